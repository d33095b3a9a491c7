/**
 * Value of a child during selection, in two parts so that the part shared by all siblings is computed only once. N(s):
 * visits of the parent, at least 1; N(s, a), Q(s, a), P(s, a): visits, value and prior of the child.
 */
export interface SelectionRule {
	readonly shared: (parentVisits: number) => number;
	readonly value: (shared: number, visits: number, q: number, prior: number) => number;
}

/** Value that makes UCT prefer unvisited children over all others. */
export const unvisited = 1e9;

/** Q + c sqrt(ln N(s) / N(s, a)) (Kocsis and Szepesvári 2006). */
export const uct = (c: number): SelectionRule => ({
	shared: Math.log,
	value: (logarithm, visits, q) => (visits === 0 ? unvisited : q + c * Math.sqrt(logarithm / visits)),
});

/** Q + P sqrt(N(s)) / (1 + N(s, a)) (c1 + ln((N(s) + c2 + 1) / c2)) (Silver et al. 2017; Schrittwieser et al. 2020). */
export const puct = (c1: number, c2: number): SelectionRule => ({
	shared: (parentVisits) => Math.sqrt(parentVisits) * (c1 + Math.log((parentVisits + c2 + 1) / c2)),
	value: (shared, visits, q, prior) => q + (prior * shared) / (1 + visits),
});
