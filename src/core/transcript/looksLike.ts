/** Patterns that match the start of a message, as printed by Python or in JSON. */
const marks: readonly RegExp[] = [
	/\[\s*(?:[\w.]{0,80})(?:Human|AI|System|Tool|Chat|Function)Message(?:Chunk)?\(/,
	/["']role["']\s*:\s*["'](?:system|developer|user|assistant|tool|function|human|ai)["']/,
	/["']from["']\s*:\s*["'](?:human|gpt|system)["']/,
	/["']type["']\s*:\s*["'](?:human|ai|tool)["']\s*,\s*["'](?:data|content)["']/,
	/["'](?:HumanMessage|AIMessage|ToolMessage|SystemMessage)["']/,
];

/** Returns whether text starts like a chat log; the first few kilobytes are enough. */
export function looksLikeTranscript(head: string): boolean {
	return marks.some((mark) => mark.test(head));
}
