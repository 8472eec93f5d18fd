/** A repository that cannot be worked on, with the reason in words for an administrator. */
export class UnusableRepository extends Error {}
