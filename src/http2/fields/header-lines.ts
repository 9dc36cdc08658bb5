/**
 * Header lines: name, value, name, value, …, in order, one entry a line. Values are byte strings: each character is
 * one byte.
 */
export type HeaderLines = readonly string[];
