// SPDX-License-Identifier: Apache-2.0
// A program to start in tests: built without the loader, and with a sanitizer.

int main() { return 7; }
