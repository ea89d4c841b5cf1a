/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lab/references/tool/instrument.h"

#include <stddef.h>

#include <libvex_guest_amd64.h>
#include "lab/references/reference.h"
#include "lab/references/tool/buffer.h"
#include "lab/references/tool/calls.h"
#include "lab/references/tool/code_table.h"
#include "lab/references/tool/entries.h"

enum { shadow = sizeof(VexGuestAMD64State) };

/* The known facts about a temporary: it is base + offset, where base is another temporary. */
typedef struct {
    IRTemp base;
    Int root; /* of base: its position among the superblock's roots, or -1 */
    Long offset;
} temporary;

/* One superblock on its way through. */
typedef struct {
    IRSB* out;
    IRTemp cursor;
    UInt words; /* written behind the cursor: one for the exit, then roots */
    UInt instructions;
    UInt instruction_access; /* the first access of the instruction at hand */
    UInt first_exit;
} work;

static code_draft draft;
static temporary* temporaries;
static Int temporary_room;
static Bool off = False;

void instrument_nothing(void) { off = True; }

static IRTemp add_temporary(IRSB* out, IRType type, IRExpr* value) {
    const IRTemp t = newIRTemp(out->tyenv, type);
    addStmtToIRSB(out, IRStmt_WrTmp(t, value));
    return t;
}

static IRExpr* constant(ULong value) { return IRExpr_Const(IRConst_U64(value)); }

/* A helper that may change the cursor in the guest state. `guard`: IRTemp_INVALID for always. */
static void add_helper(IRSB* out, const HChar* name, void* function, IRExpr** arguments, IRTemp guard) {
    IRDirty* call = unsafeIRDirty_0_N(0, name, VG_(fnptr_to_fnentry)(function), arguments);
    if (guard != IRTemp_INVALID) call->guard = IRExpr_RdTmp(guard);
    call->nFxState = 1;
    call->fxState[0].fx = Ifx_Modify;
    call->fxState[0].offset = shadow + slot_cursor;
    call->fxState[0].size = 16; /* the watched stack pointer lies behind it */
    call->fxState[0].nRepeats = 0;
    call->fxState[0].repeatLen = 0;
    addStmtToIRSB(out, IRStmt_Dirty(call));
}

static void add_register(IRSB* out, IRExpr** to, Int offset) {
    *to = IRExpr_RdTmp(add_temporary(out, Ity_I64, IRExpr_Get(offset, Ity_I64)));
}

static void begin_calls(IRSB* out, Addr address) {
    if (entries_is_return(address)) {
        IRExpr *sp, *watch;
        add_register(out, &sp, offsetof(VexGuestAMD64State, guest_RSP));
        add_register(out, &watch, shadow + slot_watch);
        const IRTemp popped = add_temporary(out, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, watch, sp));
        add_helper(out, "calls_on_return", &calls_on_return, mkIRExprVec_1(IRExpr_GSPTR()), popped);
    }
    const UInt function = entries_function_at(address);
    if (function != 0) {
        add_helper(out, "calls_on_entry", &calls_on_entry, mkIRExprVec_2(IRExpr_GSPTR(), constant(function)),
                   IRTemp_INVALID);
    }
}

/* Returns whether control continues within the next few instructions in any case: then the code that follows checks
 * the buffer. On such a path addresses rise and stay in one window, so it ends within the room behind the buffer. */
static Bool leads_on(const IRSB* in, Addr address) {
    const Addr window = address / buffer_window_bytes;
    if (in->jumpkind != Ijk_Boring || in->next->tag != Iex_Const) return False;
    const Addr next = in->next->Iex.Const.con->Ico.U64;
    if (next <= address || next / buffer_window_bytes != window) return False;
    for (Int i = 0; i < in->stmts_used; ++i) {
        const IRStmt* s = in->stmts[i];
        if (s->tag != Ist_Exit) continue;
        const Addr to = s->Ist.Exit.dst->Ico.U64;
        if (s->Ist.Exit.jk != Ijk_Boring || to <= address || to / buffer_window_bytes != window) return False;
    }
    return True;
}

static void begin(work* w, Bool looks) {
    w->words = 1;
    if (!looks) {
        w->cursor = add_temporary(w->out, Ity_I64, IRExpr_Get(shadow + slot_cursor, Ity_I64));
        return;
    }
    const IRTemp before = add_temporary(w->out, Ity_I64, IRExpr_Get(shadow + slot_cursor, Ity_I64));
    const IRTemp bit =
        add_temporary(w->out, Ity_I64, IRExpr_Binop(Iop_And64, IRExpr_RdTmp(before), constant(buffer_full_bit)));
    const IRTemp full = add_temporary(w->out, Ity_I1, IRExpr_Unop(Iop_CmpNEZ64, IRExpr_RdTmp(bit)));
    add_helper(w->out, "buffer_on_full", &buffer_on_full, mkIRExprVec_1(IRExpr_GSPTR()), full);
    w->cursor = add_temporary(w->out, Ity_I64, IRExpr_Get(shadow + slot_cursor, Ity_I64));
}

static IRExpr* word_at(work* w, UInt position) {
    if (position == 0) return IRExpr_RdTmp(w->cursor);
    return IRExpr_RdTmp(
        add_temporary(w->out, Ity_I64, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(w->cursor), constant(8 * position))));
}

static Int add_root(work* w, IRExpr* value) {
    tl_assert(draft.root_count < draft_roots_max);
    addStmtToIRSB(w->out, IRStmt_Store(Iend_LE, word_at(w, w->words++), value));
    return (Int)draft.root_count++;
}

static struct millpond_access* add_access(SizeT bytes, UInt kind) {
    tl_assert(draft.access_count < draft_accesses_max);
    struct millpond_access* access = &draft.accesses[draft.access_count++];
    VG_(memset)(access, 0, sizeof *access);
    access->bytes = bytes;
    access->kind = kind;
    return access;
}

static void place(work* w, struct millpond_access* access, const IRExpr* address) {
    if (address->tag == Iex_Const) {
        access->root = 0;
        access->offset = (Long)address->Iex.Const.con->Ico.U64;
        return;
    }
    const temporary* t = &temporaries[address->Iex.RdTmp.tmp];
    temporary* base = &temporaries[t->base];
    if (base->root < 0) base->root = add_root(w, IRExpr_RdTmp(t->base));
    access->root = base->root + 1;
    access->offset = t->offset;
}

/* A store of what the same instruction has loaded makes that load a modification. */
static Bool merge_modification(const work* w, const struct millpond_access* store) {
    for (UInt i = w->instruction_access; i < draft.access_count; ++i) {
        struct millpond_access* load = &draft.accesses[i];
        if (load == store || load->kind != millpond_load || load->guarded || load->root != store->root ||
            load->offset != store->offset || load->bytes != store->bytes)
            continue;
        load->kind = millpond_modify;
        return True;
    }
    return False;
}

static void access_memory(work* w, const IRExpr* address, SizeT bytes, UInt kind) {
    struct millpond_access* access = add_access(bytes, kind);
    place(w, access, address);
    if (kind == millpond_store && merge_modification(w, access)) --draft.access_count;
}

/* An access that happens if the guard holds has a root of its own, which is 0 if it does not. */
static void access_guarded(work* w, IRExpr* address, IRExpr* guard, SizeT bytes, UInt kind) {
    const IRTemp root = add_temporary(w->out, Ity_I64, IRExpr_ITE(guard, address, constant(0)));
    struct millpond_access* access = add_access(bytes, kind);
    access->guarded = 1;
    access->root = add_root(w, IRExpr_RdTmp(root)) + 1;
}

static void add_exit(work* w) {
    /* A branch leaves by two exits with nothing between them: what is written at the first holds for both. */
    if (draft.exit_count > 0) {
        const struct millpond_exit* before = &draft.exits[draft.exit_count - 1];
        if (before->accesses == draft.access_count && before->roots == draft.root_count &&
            before->instructions == w->instructions)
            return;
    }
    tl_assert(draft.exit_count < draft_exits_max);
    struct millpond_exit* exit = &draft.exits[draft.exit_count];
    VG_(memset)(exit, 0, sizeof *exit);
    exit->accesses = draft.access_count;
    exit->roots = draft.root_count;
    exit->instructions = w->instructions;
    addStmtToIRSB(w->out,
                  IRStmt_Store(Iend_LE, IRExpr_RdTmp(w->cursor),
                               constant(millpond_exit_word(w->first_exit + draft.exit_count, draft.root_count))));
    IRExpr* const next = word_at(w, w->words);
    addStmtToIRSB(w->out, IRStmt_Put(shadow + slot_cursor, next));
    ++draft.exit_count;
}

/* A sum of two bases, or a base shifted, that was computed before: an array's element is base + index * 8. */
typedef struct {
    IROp op;
    IRTemp first, second; /* or the shift */
    IRTemp result;
    Long offset; /* of the operands: result is op(first, second) + offset */
} combination;

enum { combinations_max = 64 };
static combination combinations[combinations_max];
static UInt combination_count;

/* `to` is op(first, second) + offset: based on the first temporary that differs only in the offset. */
static void note_combination(IRTemp to, IROp op, IRTemp first, IRTemp second, Long offset) {
    for (UInt i = 0; i < combination_count; ++i) {
        const combination* c = &combinations[i];
        if (c->op != op || c->first != first || c->second != second) continue;
        temporaries[to].base = c->result;
        temporaries[to].offset = offset - c->offset;
        return;
    }
    if (combination_count == combinations_max) return;
    combinations[combination_count++] = (combination){op, first, second, to, offset};
}

static void note_value(IRTemp to, const IRExpr* value) {
    temporary* t = &temporaries[to];
    if (value->tag == Iex_RdTmp) {
        t->base = temporaries[value->Iex.RdTmp.tmp].base;
        t->offset = temporaries[value->Iex.RdTmp.tmp].offset;
        return;
    }
    if (value->tag != Iex_Binop || value->Iex.Binop.arg1->tag != Iex_RdTmp) return;
    const IROp op = value->Iex.Binop.op;
    const IRExpr* second = value->Iex.Binop.arg2;
    const temporary* from = &temporaries[value->Iex.Binop.arg1->Iex.RdTmp.tmp];
    if ((op == Iop_Add64 || op == Iop_Sub64) && second->tag == Iex_Const) {
        const Long by = (Long)second->Iex.Const.con->Ico.U64;
        t->base = from->base;
        t->offset = op == Iop_Add64 ? from->offset + by : from->offset - by;
    } else if (op == Iop_Add64 && second->tag == Iex_RdTmp) {
        const temporary* other = &temporaries[second->Iex.RdTmp.tmp];
        note_combination(to, op, from->base, other->base, from->offset + other->offset);
    } else if (op == Iop_Shl64 && second->tag == Iex_Const) {
        const UInt by = second->Iex.Const.con->Ico.U8;
        note_combination(to, op, from->base, by, (Long)((ULong)from->offset << by));
    }
}

static void access_of_compare_and_swap(work* w, const IRSB* in, const IRCAS* cas) {
    SizeT bytes = sizeofIRType(typeOfIRExpr(in->tyenv, cas->dataLo));
    if (cas->dataHi != NULL) bytes *= 2;
    access_memory(w, cas->addr, bytes, millpond_modify);
}

static void access_of_helper(work* w, const IRDirty* call) {
    if (call->mFx == Ifx_None) return;
    access_memory(w, call->mAddr, call->mSize,
                  call->mFx == Ifx_Read    ? millpond_load
                  : call->mFx == Ifx_Write ? millpond_store
                                           : millpond_modify);
}

static void take_statement(work* w, const IRSB* in, IRStmt* s) {
    switch (s->tag) {
        case Ist_IMark:
            ++w->instructions;
            w->instruction_access = draft.access_count;
            break;
        case Ist_WrTmp: {
            const IRExpr* value = s->Ist.WrTmp.data;
            if (value->tag == Iex_Load)
                access_memory(w, value->Iex.Load.addr, sizeofIRType(value->Iex.Load.ty), millpond_load);
            break;
        }
        case Ist_Store:
            access_memory(w, s->Ist.Store.addr, sizeofIRType(typeOfIRExpr(in->tyenv, s->Ist.Store.data)),
                          millpond_store);
            break;
        case Ist_StoreG: {
            IRStoreG* store = s->Ist.StoreG.details;
            access_guarded(w, store->addr, store->guard, sizeofIRType(typeOfIRExpr(in->tyenv, store->data)),
                           millpond_store);
            break;
        }
        case Ist_LoadG: {
            IRLoadG* load = s->Ist.LoadG.details;
            IRType result, loaded;
            typeOfIRLoadGOp(load->cvt, &result, &loaded);
            access_guarded(w, load->addr, load->guard, sizeofIRType(loaded), millpond_load);
            break;
        }
        case Ist_CAS:
            access_of_compare_and_swap(w, in, s->Ist.CAS.details);
            break;
        case Ist_Dirty:
            access_of_helper(w, s->Ist.Dirty.details);
            break;
        case Ist_Exit:
            add_exit(w);
            break;
        default:
            break;
    }
    addStmtToIRSB(w->out, s);
    if (s->tag == Ist_WrTmp) note_value(s->Ist.WrTmp.tmp, s->Ist.WrTmp.data);
}

static void forget_temporaries(Int count) {
    if (count > temporary_room) {
        temporary_room = 2 * count;
        temporaries = VG_(realloc)("instrument", temporaries, temporary_room * sizeof *temporaries);
    }
    for (Int i = 0; i < count; ++i) {
        temporaries[i].base = i;
        temporaries[i].root = -1;
        temporaries[i].offset = 0;
    }
}

/* The exits' numbers stand in the code before it is known whether the superblock is new. Where it is not, they are
 * lowered. */
static void renumber(const IRSB* out, IRTemp cursor, UInt from, UInt to, UInt count) {
    for (Int i = 0; i < out->stmts_used; ++i) {
        IRStmt* s = out->stmts[i];
        if (s->tag != Ist_Store || s->Ist.Store.data->tag != Iex_Const) continue;
        IRConst* value = s->Ist.Store.data->Iex.Const.con;
        if (s->Ist.Store.addr->tag == Iex_RdTmp && s->Ist.Store.addr->Iex.RdTmp.tmp == cursor &&
            value->tag == Ico_U64 && millpond_exit_number(value->Ico.U64) - from < count)
            value->Ico.U64 = value->Ico.U64 - from + to;
    }
}

IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                 const VexArchInfo* host, IRType guest_word, IRType host_word) {
    (void)closure, (void)layout, (void)extents, (void)host, (void)guest_word, (void)host_word;
    if (off) return in;
    Int i = 0;
    work w = {0};
    w.out = deepCopyIRSBExceptStmts(in);
    for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i) addStmtToIRSB(w.out, in->stmts[i]);
    if (i == in->stmts_used) return in;

    forget_temporaries(in->tyenv->types_used);
    draft.address = in->stmts[i]->Ist.IMark.addr;
    draft.access_count = draft.exit_count = draft.root_count = 0;
    combination_count = 0;
    w.first_exit = code_table_next_exit();
    begin_calls(w.out, draft.address);
    begin(&w, !leads_on(in, draft.address));
    for (; i < in->stmts_used; ++i) take_statement(&w, in, in->stmts[i]);
    add_exit(&w);
    if (entries_is_unwinder(draft.address)) {
        add_helper(w.out, "calls_on_unwound", &calls_on_unwound, mkIRExprVec_1(IRExpr_GSPTR()), IRTemp_INVALID);
    }
    const UInt number = code_table_take(&draft);
    if (number != w.first_exit) renumber(w.out, w.cursor, w.first_exit, number, draft.exit_count);
    return w.out;
}
