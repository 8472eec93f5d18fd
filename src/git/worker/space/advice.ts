/**
 * A report in the form in which it goes to the daemon and to people: each figure with the lines that free it.
 */

import { encodePath } from '../../../layout/index.ts';
import { printable, shellQuoted } from '../../../text/index.ts';
import type { SpaceFindings } from './explain.ts';

const longestName = 4096;

/** In snake_case, as the API shows it. */
export function spaceJson(report: SpaceFindings): object {
  const { indexBytesPerObject: each } = report;
  return {
    object_bytes: report.objectBytes,
    reachable_bytes: report.reachableBytes,
    unreachable_bytes: report.unreachableBytes,
    objects: report.objects,
    packs: report.packs,
    loose_objects: report.looseObjects,
    kept_bytes: report.keptBytes,
    leftover_bytes: report.leftoverBytes,
    paths: report.paths.map(({ path, otherNames, bytes, versions, isInDefaultBranch }) => ({
      path: path.slice(0, longestName),
      other_names: otherNames.map(name => name.slice(0, longestName)),
      bytes,
      versions,
      in_default_branch: isInDefaultBranch,
      frees: bytes + versions * each,
      // A shell takes no line that is much longer.
      commands: [path, ...otherNames].some(name => name.length > longestName)
        ? []
        : pathCommands([path, ...otherNames]),
    })),
    refs: report.refs.map(({ name, bytes, objects, commits, isDefaultBranch }) => ({
      name: name.slice(0, longestName),
      bytes,
      commits,
      default_branch: isDefaultBranch,
      frees: bytes + objects * each,
      // Nobody can delete the default branch by a push, and nobody wants to.
      commands: isDefaultBranch ? [] : [`git push origin --delete ${bashQuoted(name)}`],
    })),
    namespaces: report.namespaces.map(({ name, refs, bytes }) => ({ name, refs, bytes })),
    lfs: report.lfs,
    cut: report.isCut,
  };
}

/** One word for bash, in plain characters whatever the name holds. */
export function bashQuoted(text: string): string {
  if (printable(text) === text && text.isWellFormed()) return shellQuoted(text);
  const bytes = [...bytesOf(text)];
  const escaped = bytes.map(byte =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x27 && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\x${byte.toString(16).padStart(2, '0')}`,
  );
  return `$'${escaped.join('')}'`;
}

function bytesOf(text: string): Buffer {
  const encoded = encodePath(text);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}

function pathCommands(paths: readonly string[]): readonly string[] {
  // It takes what begins with a dash for an option.
  const options = paths.map(path => `--path${path.startsWith('-') ? '=' : ' '}${bashQuoted(path)}`);
  return [
    `git filter-repo --invert-paths ${options.join(' ')}`,
    "git push --force origin 'refs/heads/*:refs/heads/*' 'refs/tags/*:refs/tags/*'",
  ];
}
