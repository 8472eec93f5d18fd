/** The places where storage templates expect a repository that a URL names. */

/**
 * The paths, with the names as they are written and in lower case, as forges store them. Templates are those
 * of `[storage.repos] PATH`; one with anything but `{owner}` and `{repo}` that varies gives none.
 */
export function repositoryPaths(templates: readonly string[], owner: string, repository: string): string[] {
  if (![owner, ...repository.split('/')].every(isName)) return [];
  const paths = templates
    .filter(template => !template.split('/').includes('*'))
    .flatMap(template =>
      [
        [owner, repository],
        [owner.toLowerCase(), repository.toLowerCase()],
      ].map(([one = '', other = '']) =>
        template.replaceAll(/\{owner\}|\{repo\}/g, place => (place === '{owner}' ? one : other)),
      ),
    )
    .filter(path => !/[{}]/.test(path));
  return [...new Set(paths)];
}

function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[\0/{}]/.test(name);
}
