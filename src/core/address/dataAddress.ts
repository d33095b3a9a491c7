import { Failure } from '../../base/failure.ts';
import type { RolloutSplit } from '../../protocol/rolloutSplit.ts';

/** Location in a run's data, as cited in answers and reports. `run` is the run's folder name. */
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
	  };

const longest = 2000;

/** Formats `rl://RUN/step/12/group/3/completion/5#tokens=40-60`; evaluation rollouts add `?split=validation`. */
export function formatAddress(address: DataAddress): string {
	const run = `rl://${encodeURIComponent(address.run)}`;
	if (address.kind === 'run') return run;
	if (address.kind === 'metric') {
		const step = address.step === null ? '' : `?step=${address.step}`;
		return `${run}/metric/${encodeURIComponent(address.metric)}${step}`;
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
	const match = /^rl:\/\/([^/?#]+)((?:\/[^?#]*)?)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
	if (match === null) throw wrong('it does not start with rl:// followed by a run name');
	const [, rawRun = '', path = '', query, fragment] = match;
	const decoded = (part: string) => {
		try {
			return decodeURIComponent(part);
		} catch {
			throw wrong(`"${part.slice(0, 40)}" has invalid percent-encoding`);
		}
	};
	const whole = (part: string | undefined, name: string) => {
		if (part === undefined || !/^\d{1,15}$/.test(part)) throw wrong(`${name} must be a whole number`);
		return Number(part);
	};
	const run = decoded(rawRun);
	if (run === '' || run === '.' || run === '..' || /[/\\\0]/.test(run))
		throw wrong('the run name is not a valid folder name');
	const parameters = parametersOf(query);
	if (parameters === null) throw wrong('the query after "?" must consist of name=value pairs');
	const only = (...names: string[]) => {
		for (const name of parameters.keys())
			if (!names.includes(name)) throw wrong(`"${name}" is not a supported parameter`);
	};
	const parts = path.split('/').slice(1);
	if (parts.length > 0 && parts.at(-1) === '') throw wrong('it ends with "/"');
	const kinds = parts.filter((_, i) => i % 2 === 0).join('/');
	if (fragment !== undefined && kinds !== 'step/group/completion')
		throw wrong('only completion addresses can include a token range');
	if (kinds === '') {
		only();
		return { kind: 'run', run };
	}
	if (kinds === 'metric' && parts.length === 2) {
		only('step');
		const step = parameters.get('step');
		const metric = decoded(parts[1] ?? '');
		return { kind: 'metric', run, metric, step: step === undefined ? null : whole(step, 'the step') };
	}
	if (!['step', 'step/group', 'step/group/completion'].includes(kinds)) throw wrong('the path is not recognized');
	only('split');
	const split = parameters.get('split') ?? 'train';
	if (split !== 'train' && split !== 'validation') throw wrong('the split must be train or validation');
	const step = whole(parts[1], 'the step');
	if (kinds === 'step') return { kind: 'step', run, split, step };
	const group = whole(parts[3], 'the group');
	if (kinds === 'step/group') return { kind: 'group', run, split, step, group };
	const completion = whole(parts[5], 'the completion');
	return { kind: 'completion', run, split, step, group, completion, tokens: tokensOf(fragment, wrong) };
}

const form = 'rl://RUN/step/12/group/3/completion/5#tokens=40-60, or rl://RUN/metric/NAME?step=12';

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
