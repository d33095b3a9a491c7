/**
 * Returns a note for policies that were trained on episodes but are sampled without their environment; empty for other
 * policies.
 * @param environment name of the environment that the policy was trained in
 */
export function firstTurnNotes(environment: string | null | undefined): string[] {
	if (environment === null || environment === undefined) return [];
	return [
		`This policy was trained on episodes in ${environment}. Only their first turn is sampled here, without tools and without the text from reset.`,
	];
}
