# SPDX-License-Identifier: Apache-2.0
# The simulator's parts one by one, without the library around them.
file(GLOB test_sources CONFIGURE_DEPENDS config/*_test.cpp machine/*_test.cpp memory/*_test.cpp
     kernels/*_test.cpp engine/*_test.cpp objects/*_test.cpp)
nvs_test(nvs_sim_test ${test_sources} $<TARGET_OBJECTS:nvs_sim_driver>)
target_link_libraries(nvs_sim_test PRIVATE nvs_sim_machine)
