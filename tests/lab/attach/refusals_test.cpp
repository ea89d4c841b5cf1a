// SPDX-License-Identifier: BSL-1.0
// target_process: each process that cannot be attached to is refused with the reason and the cure. The processes are
// folders of a proc file system that the test writes, so no machine lacks one.
#include <elf.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "lab/attach/target_process.hpp"
#include "lab/program/program.hpp"

namespace {

namespace fs = std::filesystem;
using millpond::attach::target_process;

constexpr pid_t pid = 4711;
constexpr char usual_interpreter[] = "/lib64/ld-linux-x86-64.so.2";

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

// An executable of headers only: an interpreter and a note, each left out if empty.
std::string elf(unsigned char kind, const std::string& interpreter, const std::string& note) {
    Elf64_Ehdr header{};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = kind;
    header.e_machine = kind == ELFCLASS64 ? EM_X86_64 : EM_386;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    const std::pair<std::uint32_t, std::string> contents[] = {{PT_INTERP, interpreter}, {PT_NOTE, note}};
    std::vector<Elf64_Phdr> parts;
    std::string bytes;
    for (const auto& [type, text] : contents) {
        if (text.empty()) continue;
        Elf64_Phdr part{};
        part.p_type = type;
        part.p_offset = sizeof header + 2 * sizeof part + bytes.size();
        part.p_filesz = text.size() + 1;
        bytes += text + '\0';
        parts.push_back(part);
    }
    header.e_phnum = static_cast<Elf64_Half>(parts.size());
    parts.resize(2);
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           std::string(reinterpret_cast<const char*>(parts.data()), 2 * sizeof(Elf64_Phdr)) + bytes;
}

std::string with_interpreter(const std::string& interpreter) { return elf(ELFCLASS64, interpreter, ""); }

class refusals : public testing::Test {
  protected:
    refusals() {
        std::string name = fs::temp_directory_path() / "attach-XXXXXX";
        proc_ = mkdtemp(name.data());
        library_ = proc_ / "library.so";
        write(library_, "");
        fs::create_directories(folder());
        fs::create_symlink("/", folder() / "root");
        write(folder() / "exe", with_interpreter(usual_interpreter));
        write(folder() / "environ", std::string("HOME=/\0", 7));
        map({"/usr/lib/libc.so.6"});
        write_status();
    }
    ~refusals() override { fs::remove_all(proc_); }

    fs::path folder() const { return proc_ / std::to_string(pid); }
    fs::path proc() const { return proc_; }

    void map(const std::vector<std::string>& paths) {
        std::string lines;
        for (const std::string& path : paths)
            lines += "7f0000000000-7f0000001000 r-xp 00000000 08:01 77   " + path + "\n";
        write(folder() / "maps", lines);
    }
    // Changes one line of the status.
    void set(const std::string& name, const std::string& value) {
        status_[name] = value;
        write_status();
    }
    // Returns why the process is refused; "" if it is not.
    std::string reason() const {
        try {
            target_process(pid, proc_).refuse_unfit(library_);
        } catch (const millpond::program::failure& why) {
            return why.what();
        }
        return "";
    }
    std::string reason_of_ptrace(int error) const {
        try {
            target_process(pid, proc_).refuse_trace(error);
        } catch (const millpond::program::failure& why) {
            return why.what();
        }
    }
    static std::string refused(const std::string& why) { return "cannot attach to process 4711: " + why; }

  private:
    void write_status() const {
        std::string lines;
        for (const auto& [name, value] : status_) lines += name + ":\t" + value + "\n";
        write(folder() / "status", lines);
    }
    static std::string own_user() {
        const std::string user = std::to_string(geteuid());
        return user + "\t" + user + "\t" + user + "\t" + user;
    }

    fs::path proc_, library_;
    std::map<std::string, std::string> status_ = {{"State", "S (sleeping)"},
                                                  {"Uid", own_user()},
                                                  {"TracerPid", "0"},
                                                  {"Seccomp", "0"},
                                                  {"SigIgn", "0000000000000000"}};
};

TEST_F(refusals, a_usual_program_is_taken) { EXPECT_EQ(reason(), ""); }

TEST_F(refusals, a_program_of_another_user) {
    const std::string other = std::to_string(geteuid() + 1);
    set("Uid", other + "\t" + other + "\t" + other + "\t" + other);
    EXPECT_EQ(reason(), refused("it belongs to user " + other + "; run millpond as that user"));
}

TEST_F(refusals, a_traced_program) {
    set("TracerPid", "812");
    EXPECT_EQ(reason(), refused("process 812 traces it already; end that debugger first"));
    EXPECT_EQ(reason_of_ptrace(EPERM), reason());
}

TEST_F(refusals, a_stopped_program) {
    set("State", "T (stopped)");
    EXPECT_EQ(reason(), refused("it is stopped; continue it first (kill -CONT 4711)"));
}

TEST_F(refusals, an_ended_program) {
    set("State", "Z (zombie)");
    EXPECT_EQ(reason(), "there is no process 4711");
    EXPECT_EQ(reason_of_ptrace(ESRCH), refused("it has ended"));
}

TEST_F(refusals, a_program_with_a_filter_of_calls) {
    set("Seccomp", "2");
    EXPECT_EQ(reason(), refused("it restricts its own system calls (seccomp); start it with 'millpond trace record'"));
}

TEST_F(refusals, a_program_that_ignores_faults) {
    set("SigIgn", "0000000000000400");
    EXPECT_EQ(reason(), refused("it ignores SIGSEGV, by which a call in it would end; start it with 'millpond trace "
                                "record'"));
}

TEST_F(refusals, a_program_of_32_bits) {
    write(folder() / "exe", elf(ELFCLASS32, "", ""));
    EXPECT_EQ(reason(), refused("it is no x86-64 program; only these can be attached to"));
}

TEST_F(refusals, an_executable_that_is_no_elf_file) {
    write(folder() / "exe", "#!/bin/sh");
    EXPECT_EQ(reason(), refused("its executable cannot be read; run millpond as root"));
}

TEST_F(refusals, a_go_program) {
    const std::string note("\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0abcd", 20);
    for (const char* const interpreter : {"", usual_interpreter}) {
        write(folder() / "exe", elf(ELFCLASS64, interpreter, note));
        EXPECT_EQ(reason(), refused("it is a Go program, whose allocator has no functions to replace; use Go's own "
                                    "profiler"));
    }
}

TEST_F(refusals, a_program_on_musl) {
    const std::string why = refused("it uses musl, and the recorder needs glibc; build the program with glibc");
    write(folder() / "exe", with_interpreter("/lib/ld-musl-x86_64.so.1"));
    EXPECT_EQ(reason(), why);
    write(folder() / "exe", with_interpreter(""));
    map({"/lib/ld-musl-x86_64.so.1"});
    EXPECT_EQ(reason(), why);
}

TEST_F(refusals, a_static_program) {
    write(folder() / "exe", with_interpreter(""));
    map({});
    EXPECT_EQ(reason(), refused("it is a static program, whose malloc cannot be replaced; link it dynamically"));
}

TEST_F(refusals, a_program_without_a_c_library) {
    map({usual_interpreter});
    EXPECT_EQ(
        reason(),
        refused("it has loaded no C library (libc.so.6), which the recorder needs; if it has just started, try again"));
}

TEST_F(refusals, a_program_that_runs_under_millpond) {
    const std::string why = refused("it runs under Millpond already; stop it, and start it without");
    write(folder() / "environ", std::string("HOME=/\0MILLPOND_RECORD=/t.mpt.partial\0", 38));
    EXPECT_EQ(reason(), why);
    write(folder() / "environ", "");
    map({"/usr/lib/libc.so.6", "/opt/lib/millpond/libmillpond-trial.so"});
    EXPECT_EQ(reason(), why);
}

TEST_F(refusals, a_program_that_sees_other_files) {
    fs::remove(folder() / "root");
    fs::create_directories(folder() / "root");
    EXPECT_NE(reason().find("(another root or mount namespace); run millpond inside that container"),
              std::string::npos);
}

TEST_F(refusals, tracing_that_the_machine_forbids) {
    const fs::path scope = proc() / "sys/kernel/yama/ptrace_scope";
    EXPECT_EQ(reason_of_ptrace(EPERM),
              refused("ptrace: Operation not permitted; run as root, or with the capability SYS_PTRACE"));
    write(scope, "0\n");
    EXPECT_NE(reason_of_ptrace(EPERM).find("SYS_PTRACE"), std::string::npos);
    for (const char* const closed : {"1", "2"}) {
        write(scope, std::string(closed) + "\n");
        EXPECT_EQ(reason_of_ptrace(EPERM),
                  refused(std::string("kernel.yama.ptrace_scope is ") + closed +
                          ", which permits no tracing of running programs; run as root, or set it to 0 by sysctl"));
    }
    write(scope, "3\n");
    EXPECT_NE(reason_of_ptrace(EPERM).find("start the program with 'millpond trace record'"), std::string::npos);
}

}  // namespace
