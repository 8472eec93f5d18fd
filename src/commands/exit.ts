/** Takes the exit status that a command ends with. */
export type Exit = (status: number) => void;
