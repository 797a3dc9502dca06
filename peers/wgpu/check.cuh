// Ends the program with the words of CUDA's error, if a call returns one.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                        \
    do {                                                                                                   \
        cudaError_t error = (call);                                                                        \
        if (error != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                                 \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)
