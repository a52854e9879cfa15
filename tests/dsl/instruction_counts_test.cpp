#include "dsl/instruction_counts.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(InstructionCounts, FindsInnermostLoops) {
    const std::vector<LoopCounts> loops = innermost_loops(R"(f:
	xorl	%ecx, %ecx
.LBB0_1:
	movq	%rdi, %rdx
.LBB0_2:
	vmovups	(%rdx), %ymm0
	vaddps	%ymm0, %ymm1, %ymm1
	vaddss	%xmm0, %xmm2, %xmm2
	addq	$32, %rdx
	jne	.LBB0_2
	decl	%ecx
	jne	.LBB0_1
	retq

g:
.LBB1_7:
	ldr	q0, [x8], #16
	fmla	v1.4s, v0.4s, v2.4s
	fadd	s3, s3, s4
	subs	x9, x9, #1
	b.ne	.LBB1_7
	b	.LBB1_9
.LBB1_9:
	ret
)");
    ASSERT_EQ(loops.size(), 2U);
    EXPECT_EQ(loops[0].function, "f");
    EXPECT_EQ(loops[0].label, ".LBB0_2");
    EXPECT_EQ(loops[0].instructions, 5);
    EXPECT_EQ(loops[0].vectors, 2);
    EXPECT_EQ(loops[1].function, "g");
    EXPECT_EQ(loops[1].instructions, 5);
    EXPECT_EQ(loops[1].vectors, 2);
    EXPECT_NE(counts_text(loops).find("           5     40 %  g .LBB1_7\n"), std::string::npos)
        << counts_text(loops);
}

}  // namespace
}  // namespace halyard
