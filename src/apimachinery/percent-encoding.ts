/** A `%` that two hexadecimal digits do not follow (RFC 3986 section 2.1). */
export const malformedPercentEscape = /%(?![0-9A-Fa-f]{2})/;
