import { Random } from '../../../../src/base/random.ts';
import type { GenerateRequest, Generation } from '../../../../src/core/search/policy.ts';
import { FunctionPolicy, generation } from './scripted.ts';

/** A game: a tree known before the search, whose edges are text steps. Only its leaves end the completion. */
export interface Game {
	readonly text: string;
	readonly value: number;
	/** Log-probability per token of the step that leads here. */
	readonly logprob: number;
	readonly children: readonly Game[];
}

/** Returns a tree with two to four children per node and two to five levels. Every edge has a distinct text. */
export function randomGame(seed: number): Game {
	const random = Random.of('game', seed);
	let edges = 0;
	const make = (level: number): Game => {
		const leaf = level > 1 && (level >= 5 || random.next() < 0.3);
		const text = `edge ${edges++}`;
		const logprob = -3 * random.next();
		const value = random.next();
		return {
			text,
			logprob,
			value,
			children: leaf ? [] : Array.from({ length: random.between(2, 4) }, () => make(level + 1)),
		};
	};
	return make(0);
}

const tokens = 2;

/** Plays a game: when asked for n next steps, returns the n children at the prefix, in order. */
export function gamePolicy(game: Game): FunctionPolicy {
	return new FunctionPolicy((request: GenerateRequest, i: number): Generation => {
		const at = placeOf(game, request.prefix);
		const child = at.children[i % at.children.length] as Game;
		const leaf = child.children.length === 0;
		return generation(child.text, {
			finish: leaf ? 'end' : 'stop',
			tokens,
			logprob: child.logprob * tokens,
			...(leaf ? {} : { stopText: '\n' }),
		});
	});
}

export function placeOf(game: Game, completion: string): Game {
	let at = game;
	for (const step of completion.split('\n').filter((text) => text !== '')) {
		at = at.children.find(({ text }) => text === step) as Game;
	}
	return at;
}

export interface ReferenceNode {
	readonly game: Game;
	readonly children: ReferenceNode[];
	readonly prior: number;
	n: number;
	w: number;
	max: number;
}

export interface ReferenceRules {
	readonly simulations: number;
	readonly backup: 'mean' | 'max';
	readonly discount: number;
	readonly score: (parent: ReferenceNode, child: ReferenceNode, q: number) => number;
}

/** Textbook MCTS on a known game. Shares no code with the search it is compared with. */
export function referenceMcts(game: Game, rules: ReferenceRules): ReferenceNode {
	const fresh = (of: Game, prior: number): ReferenceNode => ({
		game: of,
		children: [],
		prior,
		n: 0,
		w: 0,
		max: -1e300,
	});
	const root = fresh(game, 1);
	const q = (node: ReferenceNode): number => {
		if (node.n === 0) return 0;
		return rules.backup === 'max' ? node.max : node.w / node.n;
	};
	const choose = (parent: ReferenceNode): ReferenceNode => {
		let best = parent.children[0] as ReferenceNode;
		for (const child of parent.children) {
			if (rules.score(parent, child, q(child)) > rules.score(parent, best, q(best))) best = child;
		}
		return best;
	};
	const expand = (node: ReferenceNode): void => {
		const weights = node.game.children.map(({ logprob }) => Math.exp(logprob));
		const sum = weights.reduce((a, b) => a + b, 0);
		for (const [i, child] of node.game.children.entries())
			node.children.push(fresh(child, (weights[i] as number) / sum));
	};
	for (let s = 0; s < rules.simulations; s++) {
		const path = [root];
		let at = root;
		for (;;) {
			if (at.children.length === 0) {
				if (at.game.children.length === 0 || (at.n === 0 && at !== root)) break;
				expand(at);
			}
			at = choose(at);
			path.push(at);
		}
		for (const [i, node] of path.entries()) {
			const value = at.game.value * rules.discount ** (path.length - 1 - i);
			node.n++;
			node.w += value;
			node.max = Math.max(node.max, value);
		}
	}
	return root;
}

/**
 * Returns the path of the most visited children to a leaf of the game, with ties broken by higher Q, or [] if no leaf
 * is reached.
 */
export function referencePath(root: ReferenceNode, backup: 'mean' | 'max'): string[] {
	const reaches = (node: ReferenceNode): boolean =>
		node.children.length === 0 ? node.game.children.length === 0 : node.children.some(reaches);
	const q = (node: ReferenceNode) => (node.n === 0 ? 0 : backup === 'max' ? node.max : node.w / node.n);
	const path: string[] = [];
	for (let at = root; at.children.length > 0; ) {
		let best: ReferenceNode | null = null;
		for (const child of at.children.filter(reaches)) {
			if (best === null || child.n > best.n || (child.n === best.n && q(child) > q(best))) best = child;
		}
		if (best === null) break;
		path.push(best.game.text);
		at = best;
	}
	return path;
}
