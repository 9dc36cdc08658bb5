export async function writeExperimentReport(): Promise<void> {}
