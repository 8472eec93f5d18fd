/** Mail addresses. */

/** The length that RFC 5321 allows. */
export const longestEmail = 254;

/** The characters before and behind the `@` of a mail address. */
export const emailPattern = String.raw`[^\s\u0000-\u001f\u007f-\u009f@]+@[^\s\u0000-\u001f\u007f-\u009f@]+`;

/** Tells whether it is a mail address by the rules of `emailPattern`, well-formed and not too long. */
export function isEmail(address: string): boolean {
  return (
    address.length <= longestEmail && address.isWellFormed() && /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(address)
  );
}
