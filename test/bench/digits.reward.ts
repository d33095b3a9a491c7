/** A reward that a random policy partly earns, whatever the length of its completions: the share of digits below 5. */
export default ({ completion }: { readonly completion: string }) =>
	(completion.match(/[0-4]/g)?.length ?? 0) / Math.max(1, completion.length);
