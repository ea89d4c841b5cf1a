/* SPDX-License-Identifier: GPL-2.0-or-later
 * core: replaces functions of Valgrind's core (the linker's --wrap; tool/CMakeLists.txt has the list). Each does its
 * part and calls the core's own.
 *
 *   start   messages go to the channel from the first one on; no temporary files
 *   run     unknown instructions are reported; Valgrind's own end is reported, and the trace closed before it
 *   paths   /proc/self/exe is the program, not our tool
 *   exec    a program that Valgrind cannot run, or cannot reach, runs without a capture */
#include "lab/references/tool/channel.h"
#include "lab/references/tool/tool.h"

enum { path_max = 4096, text_max = 1024, instruction_bytes = 16, empty_path = 0x1000 };
static const UWord current_folder = -100;
static const ULong stack_bytes_min = 1 << 20, stack_bytes_max = 1 << 30;

/* ---- messages ---- */

void __real_vgPlain_split_up_argv(Int argc, HChar** argv);
void __wrap_vgPlain_split_up_argv(Int argc, HChar** argv);
void __wrap_vgPlain_split_up_argv(Int argc, HChar** argv) {
    __real_vgPlain_split_up_argv(argc, argv);
    channel_find();
}

/* Valgrind expects its log as it left it. */
void __real_vgPlain_init_log_xml_sinks(UInt log_to, UInt xml_to, Int log_fd, Int xml_fd);
void __wrap_vgPlain_init_log_xml_sinks(UInt log_to, UInt xml_to, Int log_fd, Int xml_fd);
void __wrap_vgPlain_init_log_xml_sinks(UInt log_to, UInt xml_to, Int log_fd, Int xml_fd) {
    if (!channel_is_asked()) {
        __real_vgPlain_init_log_xml_sinks(log_to, xml_to, log_fd, xml_fd);
        return;
    }
    VG_(log_output_sink).fd = 2;
    VG_(log_output_sink).type = 0;
    __real_vgPlain_init_log_xml_sinks(log_to, xml_to, -1, xml_fd);
    channel_settle();
}

/* The core prints this to standard error, whatever its log is. */
void __wrap_vgPlain_err_config_error(const HChar* format, ...) __attribute__((noreturn));
void __wrap_vgPlain_err_config_error(const HChar* format, ...) {
    HChar text[text_max];
    va_list arguments;
    va_start(arguments, format);
    VG_(vsnprintf)(text, sizeof text, format, arguments);
    va_end(arguments);
    channel_note(MILLPOND_NOTE_REFUSED, text, NULL);
    VG_(exit)(1);
}

/* At level 0 these are the last words of the address space manager. */
void __wrap_vgPlain_debugLog(Int level, const HChar* module, const HChar* format, ...);
void __wrap_vgPlain_debugLog(Int level, const HChar* module, const HChar* format, ...) {
    HChar text[text_max];
    va_list arguments;
    (void)module;
    if (level > 0 || !channel_is_open()) return;
    va_start(arguments, format);
    VG_(vsnprintf)(text, sizeof text, format, arguments);
    va_end(arguments);
    VG_(write_socket)(VG_(log_output_sink).fd, text, VG_(strlen)(text));
}

/* ---- temporary files ---- */

static const HChar in_memory[] = "/memfd:millpond";

Int __real_vgPlain_mkstemp(const HChar* part_of_name, HChar* full_name);
Int __wrap_vgPlain_mkstemp(const HChar* part_of_name, HChar* full_name);
Int __wrap_vgPlain_mkstemp(const HChar* part_of_name, HChar* full_name) {
    const SysRes made = VG_(do_syscall)(__NR_memfd_create, (UWord) "millpond", 0, 0, 0, 0, 0, 0, 0);
    if (sr_isError(made)) return __real_vgPlain_mkstemp(part_of_name, full_name);
    if (full_name != NULL) VG_(strcpy)(full_name, in_memory);
    return (Int)sr_Res(made);
}

Int __real_vgPlain_unlink(const HChar* name);
Int __wrap_vgPlain_unlink(const HChar* name);
Int __wrap_vgPlain_unlink(const HChar* name) {
    return VG_(strcmp)(name, in_memory) == 0 ? 0 : __real_vgPlain_unlink(name);
}

/* ---- ends ---- */

static void stop(const HChar* why) {
    static Bool is_stopping = False;
    if (is_stopping) return;
    is_stopping = True;
    channel_note(MILLPOND_NOTE_STOPPED, why, NULL);
    tool_stop(why);
}

void __real_vgPlain_core_panic(const HChar* text) __attribute__((noreturn));
void __wrap_vgPlain_core_panic(const HChar* text) __attribute__((noreturn));
void __wrap_vgPlain_core_panic(const HChar* text) {
    stop(text);
    __real_vgPlain_core_panic(text);
}

void __real_vgPlain_unimplemented(const HChar* format, ...) __attribute__((noreturn));
void __wrap_vgPlain_unimplemented(const HChar* format, ...) __attribute__((noreturn));
void __wrap_vgPlain_unimplemented(const HChar* format, ...) {
    HChar text[text_max];
    va_list arguments;
    va_start(arguments, format);
    VG_(vsnprintf)(text, sizeof text, format, arguments);
    va_end(arguments);
    stop(text);
    __real_vgPlain_unimplemented("%s", text);
}

void __real_vgPlain_assert_fail(Bool core, const HChar* expression, const HChar* file, Int line, const HChar* function,
                                const HChar* format, ...) __attribute__((noreturn));
void __wrap_vgPlain_assert_fail(Bool core, const HChar* expression, const HChar* file, Int line, const HChar* function,
                                const HChar* format, ...) __attribute__((noreturn));
void __wrap_vgPlain_assert_fail(Bool core, const HChar* expression, const HChar* file, Int line, const HChar* function,
                                const HChar* format, ...) {
    HChar text[text_max];
    va_list arguments;
    va_start(arguments, format);
    VG_(vsnprintf)(text, sizeof text, format, arguments);
    va_end(arguments);
    stop(expression);
    __real_vgPlain_assert_fail(core, expression, file, line, function, "%s", text);
}

/* ---- instructions that Valgrind does not know ---- */

/* ud2, ud1 and ud0: whoever wrote these wanted the signal. */
static Bool is_meant(const UChar* bytes) {
    return bytes[0] == 0x0F && (bytes[1] == 0x0B || bytes[1] == 0xB9 || bytes[1] == 0xFF);
}

static void tell_instruction(Addr address) {
    const DiEpoch epoch = VG_(current_DiEpoch)();
    const HChar *function = "", *file = "", *folder = "", *module = "";
    HChar hex[3 * instruction_bytes + 1] = "", number[16], path[path_max];
    UChar bytes[instruction_bytes] = {0};
    UInt line = 0, count = 0;
    while (count < instruction_bytes && VG_(am_is_valid_for_client)(address + count, 1, VKI_PROT_READ)) {
        bytes[count] = ((const UChar*)address)[count];
        VG_(sprintf)(hex + 3 * count, "%02x ", bytes[count]);
        ++count;
    }
    if (count == 0 || is_meant(bytes)) return;
    if (!VG_(get_fnname)(epoch, address, &function)) function = "";
    HChar* const name = VG_(strdup)("core.function", function);
    if (!VG_(get_filename_linenum)(epoch, address, &file, &folder, &line)) file = folder = "";
    VG_(snprintf)(path, sizeof path, "%s%s%s", folder, *folder == 0 ? "" : "/", file);
    if (!VG_(get_objname)(epoch, address, &module)) module = "";
    VG_(sprintf)(number, "%u", line);
    channel_note(MILLPOND_NOTE_INSTRUCTION, hex, name, path, number, module, NULL);
    VG_(free)(name);
    tool_meets_unknown_instruction();
}

void __real_vgPlain_synth_sigill(ThreadId thread, Addr address);
void __wrap_vgPlain_synth_sigill(ThreadId thread, Addr address);
void __wrap_vgPlain_synth_sigill(ThreadId thread, Addr address) {
    tell_instruction(address);
    __real_vgPlain_synth_sigill(thread, address);
}

/* ---- paths ---- */

static Bool is_own_program(const HChar* path) {
    static const HChar folder[] = "/proc/";
    HChar number[16];
    if (VG_(strncmp)(path, folder, sizeof folder - 1) != 0) return False;
    path += sizeof folder - 1;
    VG_(sprintf)(number, "%d", VG_(getpid)());
    const HChar* const names[] = {"self", "thread-self", number};
    for (UInt i = 0; i < sizeof names / sizeof names[0]; ++i) {
        const SizeT bytes = VG_(strlen)(names[i]);
        if (VG_(strncmp)(path, names[i], bytes) == 0 && VG_(strcmp)(path + bytes, "/exe") == 0) return True;
    }
    return False;
}

static Bool exists(const HChar* path) {
    struct vg_stat about;
    return !sr_isError(VG_(stat)(path, &about));
}

/* Memory that the program may read: its system calls look at nothing else. */
static HChar* client_memory(void) {
    static HChar* place;
    if (place == NULL) {
        const SysRes mapped = VG_(am_mmap_anon_float_client)(path_max, VKI_PROT_READ | VKI_PROT_WRITE);
        if (!sr_isError(mapped)) place = (HChar*)sr_Res(mapped);
    }
    return place;
}

static const HChar descriptors[] = "/proc/self/fd/";

/* Returns the path of the descriptor's file; if the file has no name any more, a path of the descriptor. */
static UWord name_of_descriptor(Int file, UWord otherwise) {
    const HChar* path;
    HChar* const place = client_memory();
    if (place == NULL || !VG_(resolve_filename)(file, &path) || VG_(strlen)(path) >= path_max) return otherwise;
    if (exists(path))
        VG_(strcpy)(place, path);
    else
        VG_(sprintf)(place, "%s%d", descriptors, file);
    return (UWord)place;
}

static UWord own_program(UWord given) {
    if (!VG_(am_is_valid_for_client)(given, sizeof "/proc/1/exe", VKI_PROT_READ)) return given;
    if (!is_own_program((const HChar*)given)) return given;
    return name_of_descriptor(VG_(cl_exec_fd), given);
}

/* The same of a program that is named by a descriptor, which an exec may close before Valgrind can look at it. */
static UWord started_program(UWord given) {
    if (!VG_(am_is_valid_for_client)(given, sizeof descriptors, VKI_PROT_READ)) return given;
    const HChar* const path = (const HChar*)given;
    if (VG_(strncmp)(path, descriptors, sizeof descriptors - 1) != 0) return own_program(given);
    HChar* end;
    const Long file = VG_(strtoll10)(path + sizeof descriptors - 1, &end);
    return *end == 0 ? name_of_descriptor((Int)file, given) : given;
}

/* The arguments of a system call, as Valgrind's wrappers have them. */
typedef struct {
    Word number;
    UWord arguments[8];
} system_call;

/* A system call that Valgrind answered itself must keep the arguments that it was called with. */
static void settle(system_call* call, const system_call* asked, const void* status) {
    enum { is_answered = 1 };
    if (*(const Int*)status == is_answered) *call = *asked;
}

#define STANDS_BEFORE(name, ...)                                                                       \
    void __real_##name(ThreadId, void*, system_call*, void*, UWord*);                                  \
    void __wrap_##name(ThreadId, void*, system_call*, void*, UWord*);                                  \
    void __wrap_##name(ThreadId thread, void* layout, system_call* call, void* status, UWord* flags) { \
        const system_call asked = *call;                                                               \
        __VA_ARGS__;                                                                                   \
        __real_##name(thread, layout, call, status, flags);                                            \
        settle(call, &asked, status);                                                                  \
    }

STANDS_BEFORE(vgSysWrap_generic_sys_open_before, call->arguments[0] = own_program(call->arguments[0]))
STANDS_BEFORE(vgSysWrap_linux_sys_openat_before, call->arguments[1] = own_program(call->arguments[1]))
STANDS_BEFORE(vgSysWrap_generic_sys_access_before, call->arguments[0] = own_program(call->arguments[0]))

/* ---- limits ---- */

/* Valgrind keeps descriptors above the program's and lets no one lower the hard limit; it handles the soft one. */
static UWord kept_descriptors(UWord which, UWord given) {
    struct vki_rlimit* const place = (struct vki_rlimit*)client_memory();
    if (which != VKI_RLIMIT_NOFILE || place == NULL) return given;
    if (!VG_(am_is_valid_for_client)(given, sizeof *place, VKI_PROT_READ)) return given;
    *place = *(const struct vki_rlimit*)given;
    if (place->rlim_cur > place->rlim_max || place->rlim_max > (UWord)VG_(fd_hard_limit)) return given;
    place->rlim_max = VG_(fd_hard_limit);
    return (UWord)place;
}

static Bool is_own_process(UWord pid) { return pid == 0 || pid == (UWord)VG_(getpid)(); }

STANDS_BEFORE(vgSysWrap_generic_sys_setrlimit_before,
              call->arguments[1] = kept_descriptors(call->arguments[0], call->arguments[1]))
STANDS_BEFORE(vgSysWrap_linux_sys_prlimit64_before,
              if (is_own_process(call->arguments[0]) && call->arguments[2] != 0)
                  call->arguments[2] = kept_descriptors(call->arguments[1], call->arguments[2]))

/* ---- exec ---- */

/* The next process image has the stack that this one's limit grants. */
static void hand_on_stack(void) {
    static HChar text[48];
    static const HChar option[] = "--main-stacksize=";
    HChar** const word = channel_option(option);
    ULong bytes = VG_(client_rlimit_stack).rlim_cur;
    if (word == NULL) return;
    if (bytes > stack_bytes_max) bytes = stack_bytes_max;
    if (bytes < stack_bytes_min) bytes = stack_bytes_min;
    VG_(sprintf)(text, "%s%llu", option, bytes);
    *word = text;
}

/* If one of these returns, the program has not been replaced. */
void __real_vgSysWrap_generic_sys_execve_before(ThreadId, void*, system_call*, void*, UWord*);
void __wrap_vgSysWrap_generic_sys_execve_before(ThreadId, void*, system_call*, void*, UWord*);
void __wrap_vgSysWrap_generic_sys_execve_before(ThreadId thread, void* layout, system_call* call, void* status,
                                                UWord* flags) {
    const system_call asked = *call;
    call->arguments[0] = started_program(call->arguments[0]);
    __real_vgSysWrap_generic_sys_execve_before(thread, layout, call, status, flags);
    settle(call, &asked, status);
    channel_survive_exec(False);
}

void __real_vgSysWrap_linux_sys_execveat_before(ThreadId, void*, system_call*, void*, UWord*);
void __wrap_vgSysWrap_linux_sys_execveat_before(ThreadId, void*, system_call*, void*, UWord*);
void __wrap_vgSysWrap_linux_sys_execveat_before(ThreadId thread, void* layout, system_call* call, void* status,
                                                UWord* flags) {
    const system_call asked = *call;
    const UWord path = call->arguments[1];
    if ((call->arguments[4] & empty_path) != 0 && VG_(am_is_valid_for_client)(path, 1, VKI_PROT_READ) &&
        *(const HChar*)path == 0) {
        const UWord named = name_of_descriptor((Int)call->arguments[0], path);
        if (named != path) {
            call->arguments[0] = current_folder;
            call->arguments[1] = named;
            call->arguments[4] &= ~(UWord)empty_path;
        }
    } else {
        call->arguments[1] = started_program(path);
    }
    __real_vgSysWrap_linux_sys_execveat_before(thread, layout, call, status, flags);
    settle(call, &asked, status);
    channel_survive_exec(False);
}

/* Returns why Valgrind cannot run this file, or null. */
static const HChar* obstacle(const HChar* path) {
    struct vg_stat about;
    UChar head[20] = {0};
    if (VG_(name_of_launcher) == NULL || sr_isError(VG_(stat)(VG_(name_of_launcher), &about)))
        return "it was started in another root folder, where Valgrind cannot be found";
    if (VG_(strncmp)(path, descriptors, sizeof descriptors - 1) == 0) return "its file has no name any more";
    if (sr_isError(VG_(stat)(path, &about))) return NULL; /* the exec will say so */
    if ((about.mode & (VKI_S_ISUID | VKI_S_ISGID)) != 0)
        return "it runs with the rights of its owner (set-user-id or set-group-id)";
    const SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened)) return sr_Err(opened) == VKI_EACCES ? "its file may not be read" : NULL;
    const Int got = VG_(read)((Int)sr_Res(opened), head, sizeof head);
    VG_(close)((Int)sr_Res(opened));
    if (got < (Int)sizeof head || VG_(memcmp)(head, "\177ELF", 4) != 0) return NULL;
    const UInt machine = head[18] | (UInt)head[19] << 8;
    if (head[4] != 2 || machine != 62) return "it is not a 64-bit x86 program";
    return NULL;
}

Bool __real_vgPlain_should_we_trace_this_child(const HChar* path, const HChar** arguments);
Bool __wrap_vgPlain_should_we_trace_this_child(const HChar* path, const HChar** arguments);
Bool __wrap_vgPlain_should_we_trace_this_child(const HChar* path, const HChar** arguments) {
    if (!__real_vgPlain_should_we_trace_this_child(path, arguments)) return False;
    const HChar* const why = path == NULL ? NULL : obstacle(path);
    if (why != NULL) {
        channel_note(MILLPOND_NOTE_LEFT, path, why, NULL);
        return False;
    }
    hand_on_stack();
    channel_survive_exec(True);
    return True;
}
