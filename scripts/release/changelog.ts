/** Versions, and what CHANGELOG.md says of them. */

const form = /^(\d+)\.(\d+)\.(\d+)(?:-([a-z]+)\.(\d+))?$/;

/**
 * Returns a number below 0 if `a` comes before `b`, above 0 if it comes after it. Throws for what is no
 * version: `1.2.3`, or `1.2.3-rc.1`, which comes before 1.2.3.
 */
export function compareVersions(a: string, b: string): number {
  const [one, other] = [partsOf(a), partsOf(b)];
  const index = one.findIndex((part, at) => part !== other[at]);
  if (index === -1) return 0;
  const [first = '', second = ''] = [one[index], other[index]];
  return typeof first === 'number' && typeof second === 'number' ? first - second : first < second ? -1 : 1;
}

function partsOf(version: string): readonly (number | string)[] {
  const match = form.exec(version);
  if (match === null) throw new Error(`${version} is no version such as 0.2.0 or 0.2.0-rc.1`);
  const [, major, minor, patch, stage = '~', step = '0'] = match;
  // A tilde comes after every letter.
  return [Number(major), Number(minor), Number(patch), stage, Number(step)];
}

/** The changelog with a section for a version, and that section. Throws if there is nothing to release. */
export function released(
  changelog: string,
  version: string,
  day: string,
): { readonly text: string; readonly section: string } {
  const heading = '## [Unreleased]\n';
  const at = changelog.indexOf(heading);
  if (at === -1) throw new Error('CHANGELOG.md has no section "## [Unreleased]"');
  const rest = changelog.slice(at + heading.length);
  const end = rest.indexOf('\n## [');
  const section = (end === -1 ? rest : rest.slice(0, end)).trim();
  if (!section.includes('\n- ')) throw new Error('CHANGELOG.md says nothing under Unreleased');
  const text = `${changelog.slice(0, at)}${heading}\n## [${version}] - ${day}\n${rest}`;
  return { text, section };
}
