import { Failure } from '../base/failure.ts';
import { nodeIsNewEnough } from '../base/nodeVersion.ts';

/** Verbs that read, stop or explain: an older Node does for them. */
const readers: ReadonlySet<string> = new Set([
	...['help', 'version', 'status', 'stop', 'inspect', 'query', 'report', 'export', 'tree', 'transcript', 'doctor'],
]);

/** Fails with `version` before a verb does anything that this Node cannot finish: a run would leave its folder behind. */
export function requireNode(verb: string, node: string = process.versions.node): void {
	if (readers.has(verb) || nodeIsNewEnough(node)) return;
	throw new Failure(
		'version',
		`reasoning-lab ${verb} needs Node 22.18 or newer, and this is Node ${node} (${process.execPath}).`,
		'Install a newer Node, or run it with another installed one.',
	);
}
