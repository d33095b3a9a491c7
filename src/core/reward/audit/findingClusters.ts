/** Findings with the same cause. */
export interface FindingCluster<F> {
	readonly cause: string;
	/** Findings in the given order; never empty. */
	readonly findings: readonly F[];
}

/** Groups findings by cause, in order of first occurrence. */
export function clusterFindings<F extends { readonly cause: string }>(findings: readonly F[]): FindingCluster<F>[] {
	return [...Map.groupBy(findings, ({ cause }) => cause)].map(([cause, members]) => ({ cause, findings: members }));
}
