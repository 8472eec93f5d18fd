/** Certificates that servers of tests show. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from './run.ts';

/** A key and a certificate that signs itself, as files and in PEM. */
export interface Certificate {
  readonly keyFile: string;
  readonly certificateFile: string;
  readonly key: string;
  readonly certificate: string;
}

/** Makes one below `directory`; `names`: as OpenSSL's subjectAltName has them. */
export async function certificateIn(
  directory: string,
  names = 'DNS:localhost,IP:127.0.0.1',
): Promise<Certificate> {
  const [certificateFile, keyFile] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  await must('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30'],
    ...['-subj', '/CN=localhost', '-addext', `subjectAltName=${names}`],
    ...['-keyout', keyFile, '-out', certificateFile],
  ]);
  const [key, certificate] = [readFileSync(keyFile, 'utf8'), readFileSync(certificateFile, 'utf8')];
  return { keyFile, certificateFile, key, certificate };
}
