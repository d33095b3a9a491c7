import { basename, dirname } from 'node:path';
import type { PolicyCapabilities } from '../../core/search/policy.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { stepOf } from '../../runs/runFiles.ts';
import type { ItemFlag } from '../ids.ts';
import { displayText } from '../runView.ts';

/** Result of a policy's last test. */
export interface PolicyTrial {
	readonly capabilities: PolicyCapabilities;
	readonly model: string;
	readonly sample: string;
	readonly notes: readonly string[];
	/** Time of the test, in milliseconds since the epoch. */
	readonly at: number;
}

export interface PolicyView {
	readonly spec: PolicySpec;
	/** Name of the run that the policy belongs to; null if none or unknown. */
	readonly run: string | null;
	readonly hasKey: boolean;
	readonly trial: PolicyTrial | null;
}

/** Text for one row of the *Policies* view; policiesTree.ts renders it. */
export interface PolicyPresentation {
	readonly label: string;
	readonly description: string;
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	readonly tooltip: readonly (readonly [name: string, value: string])[];
	readonly spoken: string;
}

const icons: Readonly<Record<PolicySpec['kind'], string>> = {
	openai: 'server',
	engine: 'pulse',
	checkpoint: 'save',
	scripted: 'file-code',
};

export function nameOfPolicy({ spec, run }: Pick<PolicyView, 'spec' | 'run'>): string {
	switch (spec.kind) {
		case 'openai':
			return displayText(spec.name, 80);
		case 'engine':
			return displayText(run ?? basename(spec.run), 80);
		case 'checkpoint': {
			const step = stepOf(basename(spec.folder));
			const own = displayText(run ?? basename(dirname(dirname(spec.folder))), 60);
			return `${own}, ${step === null ? displayText(basename(spec.folder), 40) : `step ${step}`}`;
		}
		case 'scripted':
			return displayText(basename(spec.file), 80);
	}
}

/** Describes each capability of a policy in a few words, omitting those that the policy lacks. */
export function capabilityWords(capabilities: PolicyCapabilities): string[] {
	const { logprobs, alternatives, prefix, seed, instructions, score, heads } = capabilities;
	return [
		prefix ? 'continues' : null,
		logprobs ? (alternatives > 0 ? `log-probs with ${alternatives} alternatives` : 'log-probs') : null,
		seed ? 'seeds' : null,
		instructions ? 'instructions' : null,
		score ? 'scores text' : null,
		...heads.map((head) => `${head} head`),
	].filter((word) => word !== null);
}

function kindWords(spec: PolicySpec): string {
	switch (spec.kind) {
		case 'openai':
			return displayText(spec.model, 60);
		case 'engine':
			return 'training now';
		case 'checkpoint':
			return 'checkpoint';
		case 'scripted':
			return 'script';
	}
}

export function presentPolicy(view: PolicyView, now: number): PolicyPresentation {
	const { spec, trial, hasKey } = view;
	const label = nameOfPolicy(view);
	const kind = kindWords(spec);
	const able = trial === null ? null : capabilityWords(trial.capabilities);
	const lacks = trial !== null && !trial.capabilities.prefix;
	const flags: ItemFlag[] = ['policy'];
	if (spec.kind === 'openai') flags.push('serverPolicy', hasKey ? 'keyedPolicy' : 'keylessPolicy');
	else if (spec.kind !== 'engine') flags.push('recentPolicy');
	const server = spec.kind === 'openai' ? spec : null;
	const price = server?.price;
	const rows: (readonly [string, string | null])[] = [
		['Server', server === null ? null : displayText(server.baseUrl, 200)],
		['API', server === null ? null : server.api === 'chat' ? 'chat' : 'completions'],
		['Model', displayText(trial?.model ?? server?.model ?? '', 120) || null],
		['API key', server === null ? null : hasKey ? 'in secret storage' : 'none'],
		[
			'Price',
			price === undefined
				? null
				: `${price.input} input, ${price.output} output per million tokens, ${displayText(price.currency, 10)}`,
		],
		[
			'Location',
			spec.kind === 'openai'
				? null
				: displayText(spec.kind === 'engine' ? spec.run : spec.kind === 'checkpoint' ? spec.folder : spec.file, 400),
		],
		['Capabilities', able === null ? 'not tested' : able.join(', ') || 'text only'],
		['Last tested', trial === null ? null : agoWords(now - trial.at)],
		['Sample', trial === null || trial.sample === '' ? null : displayText(trial.sample, 200)],
		...(trial?.notes ?? []).slice(0, 12).map((note) => ['Note', displayText(note, 300)] as const),
	];
	return {
		label,
		description: [kind, able === null ? null : able.slice(0, 3).join(', ')].filter((part) => part !== null).join(' · '),
		icon: { id: icons[spec.kind], color: lacks ? 'charts.yellow' : able === null ? null : 'charts.green' },
		contextValue: flags.join(' '),
		tooltip: rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
		spoken: [label, kind, able === null ? 'not tested' : `capabilities: ${able.join(', ')}`].join(', '),
	};
}

function agoWords(ms: number): string {
	const minutes = Math.floor(ms / 60_000);
	if (minutes < 1) return 'just now';
	if (minutes < 60) return `${minutes} min ago`;
	const hours = Math.floor(minutes / 60);
	return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}
