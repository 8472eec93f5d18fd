/** The settings of the forge reader (`[forge]`). */

export const forgeKinds = ['gitea', 'forgejo', 'gogs', 'gitlab'] as const;

export type ForgeKind = (typeof forgeKinds)[number];

/** How an object that an owner has several times counts: once, or each time, as Forgejo's own quota does. */
export type CountRule = 'once' | 'as-forgejo';

/** The owner of projects in a subgroup of GitLab: the top-level group, or the subgroup itself. */
export type OwnerLevel = 'top' | 'namespace';

export interface ForgeSettings {
  readonly kind: ForgeKind;
  /** The forge's own configuration file, absolute; null if `database` says all. */
  readonly configFile: string | null;
  /** An address as `parseDatabaseAddress` reads it, which wins over `configFile`; null if not given. */
  readonly database: string | null;
  readonly count: CountRule;
  /** Only for GitLab. */
  readonly ownerLevel: OwnerLevel;
  /** How often to ask for what is new. */
  readonly pollMs: number;
}
