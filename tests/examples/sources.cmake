set(HALYARD_EXAMPLES_TESTS
  examples/guide_test.cpp)
