import { Failure } from '../../base/failure.ts';
import type { RolloutSplit } from '../../protocol/rolloutSplit.ts';

/** A data location, as cited in answers and reports. `run` is the run's folder name. */
export type DataAddress =
	| { readonly kind: 'run'; readonly run: string }
	| { readonly kind: 'metric'; readonly run: string; readonly metric: string; readonly step: number | null }
	| { readonly kind: 'step'; readonly run: string; readonly split: RolloutSplit; readonly step: number }
	| {
			readonly kind: 'group';
			readonly run: string;
			readonly split: RolloutSplit;
			readonly step: number;
			readonly group: number;
	  }
	| {
			readonly kind: 'completion';
			readonly run: string;
			readonly split: RolloutSplit;
			readonly step: number;
			readonly group: number;
			readonly completion: number;
			/** Zero-based indices of the first and last tokens, or null for the whole completion. */
			readonly tokens: readonly [number, number] | null;
	  }
	| ({ readonly kind: 'evaluation' } & EvaluationPlace)
	/** A paired test of this evaluation against another on the same problems. */
	| ({ readonly kind: 'comparison'; readonly other: EvaluationPlace } & EvaluationPlace)
	/** An agent's report, identified by its name without the extension, starting at a byte offset. */
	| { readonly kind: 'report'; readonly run: string; readonly name: string; readonly offset: number }
	/** A file in the run's folder, identified by its relative path, starting at a byte offset. */
	| { readonly kind: 'file'; readonly run: string; readonly path: string; readonly offset: number }
	| {
			readonly kind: 'search';
			/** null for a file that does not belong to a run. */
			readonly run: string | null;
			/** File name in the run's `searches` folder; without a run, a path relative to the project folder. */
			readonly search: string;
			/** Number of the tree in the file, starting from 1. */
			readonly tree: number;
			/** null for the whole tree. */
			readonly node: number | null;
	  }
	| {
			readonly kind: 'dataset';
			readonly run: null;
			/** Path relative to the project folder. */
			readonly path: string;
			/** Position of the row in the file, starting from 0; null for the whole file. */
			readonly row: number | null;
	  };

/**
 * An evaluation at a training step or, without a step, an evaluation of a checkpoint, identified by its folder name.
 */
export interface EvaluationPlace {
	readonly run: string;
	readonly name: string;
	readonly step: number | null;
}

const longest = 2000;

/** Names of agents' reports, without the extension. */
export const reportName = /^[A-Za-z0-9][\w-]{0,80}$/;

/**
 * Formats `rl://RUN/step/12/group/3/completion/5#tokens=40-60`; evaluation rollouts add `?split=validation`. A tree
 * node is `rl://RUN/search/LOG/node/5`, and a dataset row `rl:///dataset/PATH/row/3`.
 */
export function formatAddress(address: DataAddress): string {
	const run = `rl://${encodeURIComponent(address.run ?? '')}`;
	if (address.kind === 'run') return run;
	if (address.kind === 'file' || address.kind === 'report') {
		const name = address.kind === 'file' ? address.path : address.name;
		const offset = address.offset === 0 ? '' : `?offset=${address.offset}`;
		return `${run}/${address.kind}/${encodeURIComponent(name)}${offset}`;
	}
	if (address.kind === 'search') {
		const node = address.node === null ? '' : `/node/${address.node}`;
		const tree = address.tree === 1 ? '' : `?tree=${address.tree}`;
		return `${run}/search/${encodeURIComponent(address.search)}${node}${tree}`;
	}
	if (address.kind === 'dataset') {
		return `${run}/dataset/${encodeURIComponent(address.path)}${address.row === null ? '' : `/row/${address.row}`}`;
	}
	if (address.kind === 'comparison') {
		const { other, ...first } = address;
		const query = `with=${encodeURIComponent(formatAddress({ kind: 'evaluation', ...other }))}`;
		return `${formatAddress({ ...first, kind: 'evaluation' })}${first.step === null ? '?' : '&'}${query}`;
	}
	if (address.kind === 'metric' || address.kind === 'evaluation') {
		const name = address.kind === 'metric' ? address.metric : address.name;
		const step = address.step === null ? '' : `?step=${address.step}`;
		return `${run}/${address.kind}/${encodeURIComponent(name)}${step}`;
	}
	const split = address.split === 'validation' ? '?split=validation' : '';
	const step = `${run}/step/${address.step}`;
	if (address.kind === 'step') return `${step}${split}`;
	const group = `${step}/group/${address.group}`;
	if (address.kind === 'group') return `${group}${split}`;
	const tokens = address.tokens === null ? '' : `#tokens=${address.tokens[0]}-${address.tokens[1]}`;
	return `${group}/completion/${address.completion}${split}${tokens}`;
}

/** Parses the output of `formatAddress`. Throws an `invalid` failure that names the malformed part. */
export function parseAddress(text: string): DataAddress {
	const wrong = (what: string) =>
		new Failure('invalid', `"${text.slice(0, 200)}" is not a valid run data address: ${what}.`, `Use ${form}.`);
	if (text.length > longest) throw wrong(`it exceeds ${longest} characters`);
	const match = /^rl:\/\/([^/?#]*)((?:\/[^?#]*)?)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
	if (match === null) throw wrong('it does not start with rl:// followed by a run name');
	const [, rawRun = '', path = '', query, fragment] = match;
	const reader = new AddressReader(path, query, wrong);
	const { kinds } = reader;
	if (rawRun === '' && !/^(?:search|dataset)\b/.test(kinds))
		throw wrong('it does not start with rl:// followed by a run name');
	const run = reader.decoded(rawRun);
	if ((rawRun !== '' && run === '') || run === '.' || run === '..' || /[/\\\0]/.test(run))
		throw wrong('the run name is not a valid folder name');
	if (fragment !== undefined && kinds !== 'step/group/completion')
		throw wrong('only completion addresses can include a token range');
	switch (kinds) {
		case '':
			reader.only();
			return { kind: 'run', run };
		case 'metric': {
			reader.only('step');
			return { kind: 'metric', run, metric: reader.name(0), step: reader.parameter('step') };
		}
		case 'evaluation': {
			reader.only('step', 'with');
			const first = { run, name: reader.name(0), step: reader.parameter('step') };
			const second = reader.text('with');
			if (second === null) return { kind: 'evaluation', ...first };
			const { kind, ...other } = parseAddress(second);
			if (kind !== 'evaluation') throw wrong('"with" is not the address of an evaluation');
			return { kind: 'comparison', ...first, other: other as EvaluationPlace };
		}
		case 'dataset':
		case 'dataset/row': {
			reader.only();
			const path = reader.name(0);
			if (run !== '') throw wrong('a dataset does not belong to a run');
			if (!isRelative(path)) throw wrong('the path is not inside the project folder');
			return { kind: 'dataset', run: null, path, row: kinds === 'dataset' ? null : reader.whole(1, 'the row') };
		}
		case 'report': {
			reader.only('offset');
			const name = reader.name(0);
			if (!reportName.test(name)) throw wrong('the report does not have a valid name');
			return { kind: 'report', run, name, offset: reader.parameter('offset') ?? 0 };
		}
		case 'file': {
			reader.only('offset');
			const path = reader.name(0);
			if (!isRelative(path)) throw wrong('the path is not inside the run folder');
			return { kind: 'file', run, path, offset: reader.parameter('offset') ?? 0 };
		}
		case 'search':
		case 'search/node': {
			reader.only('tree');
			const search = reader.name(0);
			if (!isRelative(search) || (run !== '' && search.includes('/')))
				throw wrong('the search name is not a valid file name');
			const tree = reader.parameter('tree') ?? 1;
			if (tree < 1) throw wrong('trees are numbered from 1');
			const node = kinds === 'search' ? null : reader.whole(1, 'the node');
			return { kind: 'search', run: run === '' ? null : run, search, tree, node };
		}
		case 'step':
		case 'step/group':
		case 'step/group/completion': {
			reader.only('split');
			const place = { run, split: reader.split(), step: reader.whole(0, 'the step') };
			if (kinds === 'step') return { kind: 'step', ...place };
			const group = reader.whole(1, 'the group');
			if (kinds === 'step/group') return { kind: 'group', ...place, group };
			const completion = reader.whole(2, 'the completion');
			return { kind: 'completion', ...place, group, completion, tokens: tokensOf(fragment, wrong) };
		}
		default:
			throw wrong('the path is not recognized');
	}
}

const form =
	'rl://RUN/step/12/group/3/completion/5#tokens=40-60, rl://RUN/metric/NAME?step=12, or rl://RUN/search/LOG/node/5';

/** Whether a relative path stays inside its base folder. */
const isRelative = (path: string) =>
	path !== '' && !/[\\\0]/.test(path) && !path.split('/').some((part) => part === '' || part === '.' || part === '..');

/** Path and query of an address. Every method throws if a part is malformed. */
class AddressReader {
	/** Names in the path, without their values: `step/group`. */
	readonly kinds: string;
	readonly #values: readonly string[];
	readonly #parameters: ReadonlyMap<string, string>;
	readonly #wrong: (what: string) => Failure;

	constructor(path: string, query: string | undefined, wrong: (what: string) => Failure) {
		this.#wrong = wrong;
		const parameters = parametersOf(query);
		if (parameters === null) throw wrong('the query after "?" must consist of name=value pairs');
		this.#parameters = parameters;
		const parts = path.split('/').slice(1);
		if (parts.length > 0 && parts.at(-1) === '') throw wrong('it ends with "/"');
		if (parts.length % 2 === 1) throw wrong('the path is not recognized');
		this.kinds = parts.filter((_, i) => i % 2 === 0).join('/');
		this.#values = parts.filter((_, i) => i % 2 === 1);
	}

	decoded(part: string): string {
		try {
			return decodeURIComponent(part);
		} catch {
			throw this.#wrong(`"${part.slice(0, 40)}" has invalid percent-encoding`);
		}
	}

	name(at: number): string {
		return this.decoded(this.#values[at] ?? '');
	}

	whole(at: number, name: string): number {
		return this.#wholeOf(this.#values[at], name);
	}

	#wholeOf(part: string | undefined, name: string): number {
		if (part === undefined || !/^\d{1,15}$/.test(part)) throw this.#wrong(`${name} must be a whole number`);
		return Number(part);
	}

	/** Returns the parameter, or null if it is missing. */
	parameter(name: string): number | null {
		const value = this.#parameters.get(name);
		return value === undefined ? null : this.#wholeOf(value, `the ${name}`);
	}

	/** Returns the decoded text of a parameter, or null if it is missing. */
	text(name: string): string | null {
		const value = this.#parameters.get(name);
		return value === undefined ? null : this.decoded(value);
	}

	split(): RolloutSplit {
		const split = this.#parameters.get('split') ?? 'train';
		if (split !== 'train' && split !== 'validation') throw this.#wrong('the split must be train or validation');
		return split;
	}

	only(...names: string[]): void {
		for (const name of this.#parameters.keys()) {
			if (!names.includes(name)) throw this.#wrong(`"${name}" is not a supported parameter`);
		}
	}
}

function parametersOf(query: string | undefined): Map<string, string> | null {
	const found = new Map<string, string>();
	for (const pair of query === undefined || query === '' ? [] : query.split('&')) {
		const [name, value, ...rest] = pair.split('=');
		if (name === undefined || value === undefined || rest.length > 0 || found.has(name)) return null;
		found.set(name, value);
	}
	return found;
}

function tokensOf(fragment: string | undefined, wrong: (what: string) => Failure): readonly [number, number] | null {
	if (fragment === undefined) return null;
	const range = /^tokens=(\d{1,9})-(\d{1,9})$/.exec(fragment);
	if (range === null) throw wrong('the fragment after "#" must be tokens=FIRST-LAST');
	const [first, last] = [Number(range[1]), Number(range[2])];
	if (first > last) throw wrong('the first token index is greater than the last');
	return [first, last];
}
