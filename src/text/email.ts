/** Mail addresses. */

/** The length that RFC 5321 allows. */
export const longestEmail = 254;

/** The characters before and behind the `@` of a mail address. */
export const emailPattern = String.raw`[^\s\u0000-\u001f\u007f-\u009f@]+@[^\s\u0000-\u001f\u007f-\u009f@]+`;

/** Returns true for a mail address that matches `emailPattern`, is well-formed Unicode and not too long. */
export function isEmail(address: string): boolean {
  return (
    address.length <= longestEmail && address.isWellFormed() && /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(address)
  );
}
