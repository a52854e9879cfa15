// A Da Vinci program: a tree of loops, allocations and instructions that one core runs. Lowering
// and the builder create it, passes place buffers and insert flags, the simulator runs it, emitters
// print it. All units are the hardware's: a block is 32 B, a repeat of a vector instruction covers
// 8 blocks (256 B), a fractal is 512 B, or 1 KB in l0c with 4-byte elements.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "ascend/program/expr.h"
#include "ascend/program/profile.h"

namespace halyard::dv {

inline constexpr int block_bytes = 32, repeat_bytes = 256, fractal_bytes = 512;
inline constexpr int cube = 16;  // rows and columns of a fractal of l0c

// A tensor in GM, given by the caller.
struct GmTensor {
    std::string name;
    DType dtype = DType::f16;
    Expr size;  // in elements, over scalar parameters
    enum Use : uint8_t { in, out, inout, workspace } use = in;
    bool bypass_l2 = false;  // for data that is read only once
};
// A number given by the caller. An integer is a variable of expressions, a float an operand of
// instructions.
struct ScalarParam {
    std::string name;
    DType dtype = DType::i32;
};
// A buffer on the chip. It lives from its Alloc node to the end of the body that contains that
// node.
struct Buffer {
    std::string name;
    Scope scope = Scope::ub;
    DType dtype = DType::f16;
    int64_t size = 0;      // elements of one slot
    int slots = 1;         // 2 for a double buffer
    int64_t align = 0;     // the alignment of every slot, in bytes; 0 is the scope's alignment
    int64_t address = -1;  // within the scope, in bytes; -1 before place_buffers()

    int64_t slot_bytes() const;  // rounded up to the alignment, so that slots follow each other
};

// A position in a buffer or a GM tensor.
struct Ref {
    std::string buffer;
    Expr offset;               // in elements of dtype, from the beginning of the slot
    Expr slot;                 // the number of the slot
    DType dtype = DType::f16;  // the instruction's; may differ from the buffer's
};

// A number as an operand: a register (float or integer), or an immediate.
struct Number {
    std::string reg;
    double imm = 0;
    bool is_reg() const { return !reg.empty(); }
};

// Selects elements of each repeat: the first `count` ones, or those whose bit is set (`low` has
// elements 0..63).
struct Mask {
    Expr count = 0;  // 1..128 of 2-byte elements, 1..64 of 4-byte ones
    bool bits = false;
    uint64_t high = 0, low = 0;
};

// ---- data movement

// Moves `nburst` bursts of `burst` blocks, by MTE2 or MTE3. Gaps are from the end of one burst to
// the beginning of the next.
struct Dma {
    Ref dst, src;
    Expr nburst = 1, burst = 1;  // 1..4095; 1..65535 x 32 B
    Expr src_gap, dst_gap;       // 0..65535 x 32 B
    bool atomic = false;         // adds to GM (f32) instead of writing it
};
// Moves bursts of any number of bytes between GM and ubuf; not on every chip. In ubuf a burst
// begins at a block and is padded to a whole one.
struct DmaPad {
    Ref dst, src;
    Expr nburst = 1, bytes = 1;  // 1..4095; 1..2097151
    Expr src_gap, dst_gap;       // GM's side in bytes, ubuf's in blocks
};
// Moves a matrix of rows x columns, with a row pitch of `pitch` elements, from GM to l1 as
// [columns/c0][rows_padded][c0]. rows_padded is a multiple of 16.
struct Nd2Nz {
    Ref dst, src;
    Expr rows, columns, pitch, rows_padded;
};

// ---- vector unit: strides between the 8 blocks of a repeat (blk) and between repeats (rep),
// 0..255 x 32 B; 0 reads the same again

enum class VecOp : uint8_t {
    add,
    sub,
    mul,
    div,
    max,
    min,
    and_,
    or_,  // dst = src0 op src1
    relu,
    exp,
    ln,
    abs,
    rec,
    sqrt,
    rsqrt,
    not_,  // dst = op src0
    adds,
    muls,
    maxs,
    mins,
    lrelu,  // dst = src0 op number; lrelu: src0 >= 0 ? src0 : src0 * number
    axpy,   // dst += src0 * number
    mla,    // dst += src0 * src1
    dup,    // dst = number
};
inline constexpr int vec_op_count = int(VecOp::dup) + 1;
struct Vec {
    VecOp op = VecOp::add;
    Ref dst, src[2];
    Number number;
    Mask mask;
    Expr repeat = 1;  // 1..255
    int dst_blk = 1, src_blk[2] = {1, 1};
    Expr dst_rep = 8, src_rep[2] = {8, 8};
};
// Has one result per repeat, or per block (group). With `index`, max and min write pairs of a value
// and its index in the repeat.
enum class ReduceOp : uint8_t { add, max, min };
struct VecReduce {
    ReduceOp op = ReduceOp::add;
    bool group = false, index = false;
    Ref dst, src;
    Mask mask;
    Expr repeat = 1;   // 1..255
    Expr dst_rep = 1;  // in results: elements, pairs, or 8 elements of a group
    int src_blk = 1;
    Expr src_rep = 8;
};
// TIK's none, round, floor, ceil, away-zero, to-zero
enum class Round : uint8_t { none, nearest_even, floor, ceil, away, truncate };
// dst = src as another type. A repeat has as many elements as fit 256 B of the wider one.
struct VecConv {
    Round round = Round::none;  // none is nearest_even if the conversion rounds
    Ref dst, src;
    double scale = 1;  // TIK's deqscale, from i32 to f16
    Mask mask;
    Expr repeat = 1;
    int dst_blk = 1, src_blk = 1;
    Expr dst_rep = 8, src_rep = 8;
};
enum class CmpOp : uint8_t { lt, gt, ge, eq, ne, le };
// Bit i of a repeat is src0[i] op src1[i]. A repeat has 16 B of bits for 2-byte elements, 8 B for
// 4-byte ones.
struct VecCmp {
    CmpOp op = CmpOp::lt;
    Ref dst, src[2];  // dst is u8
    Expr repeat = 1;
    int src_blk[2] = {1, 1};
    Expr src_rep[2] = {8, 8};
};
// dst = bit ? src0 : src1, or bit ? src0 : number if src1 has no buffer. Bits are packed as by
// VecCmp.
struct VecSel {
    Ref dst, sel, src[2];
    Number number;
    Mask mask;
    Expr repeat = 1;
    int dst_blk = 1, src_blk[2] = {1, 1};
    Expr dst_rep = 8, src_rep[2] = {8, 8};
};
// Transposes `repeat` matrices of 16 x 16 2-byte elements.
struct VecTrans {
    Ref dst, src;
    Expr repeat = 1;                // 1..255
    Expr dst_rep = 1, src_rep = 1;  // x 512 B
};

// ---- cube unit. Layouts of f16 (c0 = 16; 32 of i8): l1 [k1][m][c0], l0a [m1][k1][16][c0], l0b
// [k1][n1][16][c0], l0c [n1][m][16].

// Moves `repeat` fractals from l1 to l0a or l0b, or from GM. The source advances by src_stride
// fractals, the destination by 1 + dst_gap.
struct Load2d {
    Ref dst, src;
    Expr repeat = 1;      // 1..255
    Expr src_stride = 1;  // 0..65535 x 512 B
    Expr dst_gap = 0;
    bool transpose = false;  // transposes each fractal of 2-byte elements
};
// img2col from l1 to l0a or ubuf. The image [c1][h][w][c0] is a matrix [ho*wo][c1*kh*kw*c0], of
// which rows from m_start and columns from k_start are moved to dst, [m1][k1][16][c0]. Rows past
// ho*wo and the borders are pad_value; m_extent is a multiple of 16, k_extent one of c0.
struct Load3d {
    Ref dst, src;
    Expr h, w, c1;                       // the image, 1..32767 each
    Expr pad[4];                         // left, right, top, bottom: 0..255
    int kh = 1, kw = 1;                  // 1..255
    int stride_h = 1, stride_w = 1;      // 1..63
    int dilation_h = 1, dilation_w = 1;  // 1..255
    Expr m_start, k_start, m_extent, k_extent;
    double pad_value = 0;
};
// c[n1][m1*16][16] (+)= a[m1][k1] * b[k1][n1]. f16 adds up in f32, i8 in i32.
struct Mmad {
    Ref dst, a, b;
    // 1..4095. Whole fractals are read and written.
    Expr m = 16, k = 16, n = 16;
    Expr accumulate = 0;  // 0 overwrites c, other values add to it
};
// Moves `nburst` bursts of `burst` fractals of 16 x 16 elements from l0c to ubuf; not on split
// cores.
struct CcToUb {
    Ref dst, src;
    Expr nburst = 1, burst = 1;  // 1..4095; 1..65535 fractals
    Expr src_gap, dst_gap;       // fractals; blocks
    bool relu = false;
};
// Moves an m x n matrix [n1][m1*16][16] from l0c to GM or l1, on split cores: row-major with a row
// pitch of `pitch` elements, or in its layout (nz).
struct Fixpipe {
    Ref dst, src;
    Expr m = 16, n = 16, pitch = 16;
    bool relu = false, nz = false;
};

// ---- scalar unit

struct Set {  // reg = value; an integer register, which is a variable of expressions
    std::string reg;
    Expr value;
};
struct ScalarLd {  // reg = src; a float register for f16 and f32, an integer register for integers
    std::string reg;
    Ref src;
};
struct ScalarSt {
    Ref dst;
    Number value;
};
enum class ScalarOp : uint8_t { move, add, sub, mul, div, max, min, neg, sqrt, to_int };
// reg = a op b in f32, rounded to `dtype`; to_int truncates and writes an integer register.
struct ScalarMath {
    ScalarOp op = ScalarOp::add;
    std::string reg;
    Number a, b;
    DType dtype = DType::f32;
};

// ---- synchronisation

struct SetFlag {  // runs on src after all of its earlier instructions
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;
    Expr id;
};
struct WaitFlag {  // blocks dst until the flag is set, and clears it
    Pipe src = Pipe::s;
    Pipe dst = Pipe::s;
    Expr id;
};
struct Barrier {
    Pipe pipe = Pipe::all;
};

struct Instr {
    using Op = std::variant<Dma, DmaPad, Nd2Nz, Vec, VecReduce, VecConv, VecCmp, VecSel, VecTrans,
                            Load2d, Load3d, Mmad, CcToUb, Fixpipe, Set, ScalarLd, ScalarSt,
                            ScalarMath, SetFlag, WaitFlag, Barrier>;
    Op op;
    std::string where;  // the stage or the source line, for messages; may be empty
};

struct Node;
using Body = std::vector<Node>;
struct For {  // for var in begin, begin + 1, .. end - 1
    std::string var;
    Expr begin, end;
    Body body;
};
struct If {
    Expr condition;
    Body then, otherwise;
};
struct Alloc {
    std::string buffer;
};
struct Node {
    std::variant<For, If, Alloc, Instr> is;

    // Not inline, because g++ 12 warns of uninitialised members in a moved variant.
    Node();
    Node(For f);
    Node(If c);
    Node(Alloc a);
    Node(Instr i);
    Node(const Node &other);
    Node(Node &&other) noexcept;
    Node &operator=(const Node &other);
    Node &operator=(Node &&other) noexcept;
    ~Node();
};

struct Program {
    std::string name, profile = "ascend910", schedule_hash;
    std::vector<GmTensor> tensors;  // in the order of the caller's arguments
    std::vector<ScalarParam> scalars;
    std::vector<Buffer> buffers;  // names are unique among tensors and buffers
    // The number of instances of the body, which the cores share. In each, block_idx is one of
    // 0..blocks-1.
    Expr blocks = 1;
    Body body;

    const Profile &chip() const { return Profile::named(profile); }
    // Return nullptr if there is none of that name.
    const Buffer *buffer(const std::string &name) const;
    Buffer *buffer(const std::string &name);
    const GmTensor *tensor(const std::string &name) const;
    // Returns the scope of a buffer or a tensor. Throws AttrError for an unknown name.
    Scope scope(const Ref &r) const;
};

// Returns the pipe that runs an instruction. For moves it depends on the scopes of their operands.
Pipe pipe_of(const Program &p, const Instr &i);
// Returns the name in text, messages and Profile::types: "data_move", "vec_add", "mmad", ...
std::string name_of(const Instr &i);
const char *name_of(VecOp op);  // "add", "and", ...
const char *name_of(ReduceOp op);
const char *name_of(Round r);
const char *name_of(CmpOp op);
const char *name_of(ScalarOp op);
int sources_of(VecOp op);   // the number of source tensors: 0, 1 or 2
bool has_number(VecOp op);  // adds, muls, maxs, mins, lrelu, axpy, dup
bool reads_dst(VecOp op);   // axpy, mla
int lanes(DType t);         // elements of a repeat: 256 / bytes
int c0(DType t);            // elements of a block: 32 / bytes

// The operands of an instruction in the order of its text: destinations first.
struct Operand {
    Ref *ref;
    bool written, read;
};
std::vector<Operand> operands(Instr &i);
struct ConstOperand {
    const Ref *ref;
    bool written, read;
};
std::vector<ConstOperand> operands(const Instr &i);

}  // namespace halyard::dv
