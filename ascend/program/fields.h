// The fields of each instruction, with their names in the text form. print.cpp and parse.cpp visit
// them with the same function, so that all that is printed can be parsed. A visitor F has
// operator() for Ref, Number, Expr, Mask, int, bool, double, enums and Pack.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

// One key with several values: blk=1,1,1.
template<class T> struct Pack {
    T *values[3];
    int count;
};
template<class T> Pack(T *) -> Pack<T>;

template<class F> void fields(Dma &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("nburst", i.nburst);
    f("burst", i.burst);
    f("src_gap", i.src_gap);
    f("dst_gap", i.dst_gap);
    f("atomic", i.atomic);
}
template<class F> void fields(DmaPad &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("nburst", i.nburst);
    f("bytes", i.bytes);
    f("src_gap", i.src_gap);
    f("dst_gap", i.dst_gap);
}
template<class F> void fields(Nd2Nz &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("rows", i.rows);
    f("columns", i.columns);
    f("pitch", i.pitch);
    f("rows_padded", i.rows_padded);
}
template<class F> void fields(Vec &i, F &&f) {
    const int n = sources_of(i.op);
    f(i.dst);
    for (int s = 0; s < n; s++)
        f(i.src[s]);
    if (has_number(i.op)) f(i.number);
    f("mask", i.mask);
    f("repeat", i.repeat);
    f("blk", Pack<int>{{&i.dst_blk, &i.src_blk[0], &i.src_blk[1]}, n + 1});
    f("rep", Pack<Expr>{{&i.dst_rep, &i.src_rep[0], &i.src_rep[1]}, n + 1});
}
template<class F> void fields(VecReduce &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("index", i.index);
    f("mask", i.mask);
    f("repeat", i.repeat);
    f("dst_rep", i.dst_rep);
    f("src_blk", i.src_blk);
    f("src_rep", i.src_rep);
}
template<class F> void fields(VecConv &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("round", i.round);
    f("scale", i.scale);
    f("mask", i.mask);
    f("repeat", i.repeat);
    f("blk", Pack<int>{{&i.dst_blk, &i.src_blk}, 2});
    f("rep", Pack<Expr>{{&i.dst_rep, &i.src_rep}, 2});
}
template<class F> void fields(VecCmp &i, F &&f) {
    f(i.dst);
    f(i.src[0]);
    f(i.src[1]);
    f("repeat", i.repeat);
    f("blk", Pack<int>{{&i.src_blk[0], &i.src_blk[1]}, 2});
    f("rep", Pack<Expr>{{&i.src_rep[0], &i.src_rep[1]}, 2});
}
template<class F> void fields(VecSel &i, F &&f) {
    f(i.dst);
    f(i.sel);
    f(i.src[0]);
    f(i.src[1], i.number);
    f("mask", i.mask);
    f("repeat", i.repeat);
    f("blk", Pack<int>{{&i.dst_blk, &i.src_blk[0], &i.src_blk[1]}, 3});
    f("rep", Pack<Expr>{{&i.dst_rep, &i.src_rep[0], &i.src_rep[1]}, 3});
}
template<class F> void fields(VecTrans &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("repeat", i.repeat);
    f("dst_rep", i.dst_rep);
    f("src_rep", i.src_rep);
}
template<class F> void fields(Load2d &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("repeat", i.repeat);
    f("src_stride", i.src_stride);
    f("dst_gap", i.dst_gap);
    f("transpose", i.transpose);
}
template<class F> void fields(Load3d &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("h", i.h);
    f("w", i.w);
    f("c1", i.c1);
    f("left", i.pad[0]);
    f("right", i.pad[1]);
    f("top", i.pad[2]);
    f("bottom", i.pad[3]);
    f("kernel", Pack<int>{{&i.kh, &i.kw}, 2});
    f("stride", Pack<int>{{&i.stride_h, &i.stride_w}, 2});
    f("dilation", Pack<int>{{&i.dilation_h, &i.dilation_w}, 2});
    f("m_start", i.m_start);
    f("k_start", i.k_start);
    f("m", i.m_extent);
    f("k", i.k_extent);
    f("pad_value", i.pad_value);
}
template<class F> void fields(Mmad &i, F &&f) {
    f(i.dst);
    f(i.a);
    f(i.b);
    f("m", i.m);
    f("k", i.k);
    f("n", i.n);
    f("accumulate", i.accumulate);
}
template<class F> void fields(CcToUb &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("nburst", i.nburst);
    f("burst", i.burst);
    f("src_gap", i.src_gap);
    f("dst_gap", i.dst_gap);
    f("relu", i.relu);
}
template<class F> void fields(Fixpipe &i, F &&f) {
    f(i.dst);
    f(i.src);
    f("m", i.m);
    f("n", i.n);
    f("pitch", i.pitch);
    f("relu", i.relu);
    f("nz", i.nz);
}
template<class F> void fields(Set &i, F &&f) {
    f(i.reg);
    f(i.value);
}
template<class F> void fields(ScalarLd &i, F &&f) {
    f(i.reg);
    f(i.src);
}
template<class F> void fields(ScalarSt &i, F &&f) {
    f(i.dst);
    f(i.value);
}
template<class F> void fields(ScalarMath &i, F &&f) {
    f(i.reg);
    f(i.a);
    f(i.b);
    f("op", i.op);
    f("dtype", i.dtype);
}
template<class F> void fields(SetFlag &i, F &&f) {
    f(i.src);
    f(i.dst);
    f(i.id);
}
template<class F> void fields(WaitFlag &i, F &&f) {
    f(i.src);
    f(i.dst);
    f(i.id);
}
template<class F> void fields(Barrier &i, F &&f) {
    f(i.pipe);
}

}  // namespace halyard::dv
