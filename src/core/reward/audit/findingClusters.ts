/** Findings of one cause. */
export interface FindingCluster<F> {
	readonly cause: string;
	/** In the order given; never empty. */
	readonly findings: readonly F[];
}

/** Findings by cause, in the order of the first of each. */
export function clusterFindings<F extends { readonly cause: string }>(findings: readonly F[]): FindingCluster<F>[] {
	return [...Map.groupBy(findings, ({ cause }) => cause)].map(([cause, members]) => ({ cause, findings: members }));
}
