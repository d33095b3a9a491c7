/*
 * Changes one tree file from another program and reads it. It must be either read or rejected with one message, and
 * every tree that is read must have consistent events.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../src/base/failure.ts';
import { Random } from '../../src/base/random.ts';
import { SearchTree } from '../../src/core/search/searchTree.ts';
import { decode } from '../../src/protocol/decode.ts';
import { treeEventSchema } from '../../src/protocol/treeLog.ts';
import { readTreeFile } from '../../src/search/formats/readTreeFile.ts';
import { treeFixtures } from '../unit/search/formats/treeFixtures.ts';
import { mutations } from './fileMutations.ts';

export interface TreeFuzzCase {
	readonly seed: number;
	/** Display name, such as "tree-x1/graphs/mcts_tree_final.json: flip bits". */
	readonly name: string;
	/** Description of the problem, or null if there is none. */
	readonly problem: string | null;
	readonly outcome: 'read' | 'faults' | 'refused';
}

const files = treeFixtures.map((fixture) => ({ ...fixture, bytes: readFileSync(fixture.path) }));
const reasons = ['corrupt', 'unsupported', 'invalid', 'version'];

export async function treeFuzzCase(seed: number): Promise<TreeFuzzCase> {
	const random = Random.of('tree files', seed);
	const file = files[seed % files.length] as (typeof files)[number];
	const mutation = random.pick(mutations);
	const others = files.filter(({ folder }) => folder !== file.folder).map(({ bytes }) => bytes);
	const name = `${file.folder}/${file.name}: ${mutation.name}`;
	const folder = await mkdtemp(join(tmpdir(), 'tree-fuzz-'));
	try {
		const path = join(folder, 'tree.json');
		await writeFile(path, mutation.apply(file.bytes, random, others));
		return { seed, name, ...(await judge(path)) };
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

async function judge(path: string): Promise<Pick<TreeFuzzCase, 'problem' | 'outcome'>> {
	let result: Awaited<ReturnType<typeof readTreeFile>>;
	try {
		result = await readTreeFile(path);
	} catch (error) {
		const fine = error instanceof Failure && reasons.includes(error.reason) && error.message.length < 2000;
		return { problem: fine ? null : String((error as Error).stack ?? error), outcome: 'refused' };
	}
	let faults = result.faults.length;
	if (result.trees.length === 0) return { problem: 'There are no trees.', outcome: 'read' };
	for (const one of result.trees) {
		faults += one.faults.length;
		const tree = new SearchTree();
		for (const event of one.events) {
			const decoded = decode(treeEventSchema, event);
			if (!decoded.ok) return { problem: `${JSON.stringify(event)}: ${decoded.faults[0]?.message}`, outcome: 'read' };
			// Check serialization, because sending the event to another process recurses.
			JSON.stringify(event);
			if (!tree.apply(event)) return { problem: `${JSON.stringify(event)} cannot be applied`, outcome: 'read' };
		}
		if (tree.nodeCount !== one.facts.nodes) return { problem: 'The number of nodes is wrong.', outcome: 'read' };
		const { best } = one.facts;
		if (best !== null && tree.pathTo(best.path.at(-1) ?? -1).join() !== best.path.join()) {
			return { problem: 'The best path is not in the tree.', outcome: 'read' };
		}
	}
	return { problem: null, outcome: faults > 0 ? 'faults' : 'read' };
}
