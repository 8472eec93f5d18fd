/** The token in an `Authorization` header. */

/**
 * `token T`, `Bearer T`, or Basic with the token as password, whatever the user name. Null where it is
 * nothing of that; schemes are compared without case.
 */
export function tokenIn(authorization: string): string | null {
  const [, scheme = '', credentials = ''] = /^([^ ]+) +([^ ]+) *$/.exec(authorization) ?? [];
  switch (scheme.toLowerCase()) {
    case 'token':
    case 'bearer':
      return credentials;
    case 'basic': {
      const pair = Buffer.from(credentials, 'base64').toString();
      const colon = pair.indexOf(':');
      return colon === -1 ? null : pair.slice(colon + 1);
    }
    default:
      return null;
  }
}
