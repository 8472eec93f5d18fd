/** Signed pushes: whether git's configuration has clients asked for them. */

import type { ProgramOptions } from '../../bounded/index.ts';
import { asOwner, git } from './config.ts';

/** `receive.certNonceSeed` is a secret: only its name is looked for. */
const asked = ['--no-includes', '--name-only', '-z', '--get-regexp', '^receive\\.certnonceseed$'];

/**
 * Tells whether the system's configuration says so, or that of a file; one that git cannot read says nothing.
 */
export async function configAsksForSignedPushes(
  source: 'system' | { readonly file: string; readonly owner: NonNullable<ProgramOptions['user']> },
): Promise<boolean> {
  const where = source === 'system' ? ['--system'] : ['--file', source.file];
  const reader = source === 'system' ? {} : asOwner(source.owner);
  return (await git(['config', ...where, ...asked], reader).catch(() => '')) !== '';
}
