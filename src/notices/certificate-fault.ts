/** Certificates that are not trusted, in words for administrators. */

/** Why a certificate was not taken, as Node and OpenSSL name it. */
const codes: ReadonlySet<unknown> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Null: the fault is another one. `place`: the host, and its port if it is known. */
export function certificateFault(error: unknown, place: string): string | null {
  if (!(error instanceof Error)) return null;
  // nodemailer has a code of its own, and keeps the first.
  const code = 'originalCode' in error ? error.originalCode : 'code' in error ? error.code : null;
  if (!codes.has(code)) return null;
  // Behind a semicolon stands how Node itself is called.
  const [why = ''] = error.message.split(';');
  return `the certificate of ${place} is not trusted: ${why}`;
}
