/** The faults that zod finds, as text. */

interface Issues {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** Gives a line for each fault, such as `rules.0.limit: expected whole bytes`. */
export function issueLines({ issues }: Issues): readonly string[] {
  return issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
}
