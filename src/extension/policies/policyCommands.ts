import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import { type PolicySpec, policySpecSchema } from '../../protocol/policySpec.ts';
import { commandIds, viewIds } from '../ids.ts';
import type { Notices } from '../notices.ts';
import { withProgress } from '../progress.ts';
import { showInputBox, showQuickPick } from '../quickInput.ts';
import { displayText } from '../runView.ts';
import { askServer, faultOfKey, faultOfName, faultOfUrl } from './addPolicyFlow.ts';
import type { PoliciesTree } from './policiesTree.ts';
import type { PolicyKeys } from './policyKeys.ts';
import { capabilityWords, nameOfPolicy, type PolicyView, presentPolicy } from './policyPresentation.ts';
import type { PolicyRuns } from './policyRuns.ts';
import { policySettings, type ServerPolicy } from './policySettings.ts';
import { type PolicyStore, policyId } from './policyStore.ts';

export interface PolicyCommandNeeds {
	readonly store: PolicyStore;
	readonly keys: PolicyKeys;
	readonly tree: PoliciesTree;
	readonly notices: Notices;
	readonly runs: () => Promise<PolicyRuns>;
}

/** The commands of the *Policies* view. Each one accepts a policy from the view or a policy spec, or asks for one. */
export class PolicyCommands {
	readonly #needs: PolicyCommandNeeds;

	constructor(needs: PolicyCommandNeeds) {
		this.#needs = needs;
	}

	/** Implements *Add Policy*: adds a server described by the user or the caller. @returns its spec */
	async add(argument?: unknown): Promise<PolicySpec | undefined> {
		const { store, keys, notices } = this.#needs;
		const names = store.servers.map(({ name }) => name);
		const models = async (server: ServerPolicy, key: string) => (await this.#needs.runs()).models(server, key);
		const wanted =
			typeof argument === 'object' && argument !== null && 'baseUrl' in argument
				? { server: checked(argument, names), key: '' }
				: await askServer({ names, models });
		if (wanted === null) return undefined;
		const { server, key } = wanted;
		await policySettings.add(server);
		if (key !== '') await keys.set(server, key);
		store.changed();
		void notices.information(`Added ${displayText(server.name, 80)}.`, [
			{ title: 'Test Policy', run: () => vscode.commands.executeCommand(commandIds.testPolicy, policyId(server)) },
			{ title: 'Set Price', run: () => vscode.commands.executeCommand(commandIds.setPolicyPrice, policyId(server)) },
		]);
		return server;
	}

	/** Implements *Test Policy*: probes a policy's capabilities and shows them. @returns the test result */
	async test(argument?: unknown): Promise<PolicyView['trial'] | undefined> {
		const view = await this.#one(argument, 'Test a policy', () => true);
		if (view === undefined) return undefined;
		const { store, notices } = this.#needs;
		const name = nameOfPolicy(view);
		const words = { title: `Testing ${name}`, why: 'Requesting a few short completions...', view: viewIds.policies };
		const runs = await this.#needs.runs();
		const found = await withProgress(words, (signal) => runs.probe(view.spec, signal));
		const at = Date.now();
		await store.tried(view.spec, found, at);
		const able = capabilityWords(found.capabilities);
		const sample = displayText(found.sample, 80);
		const notes = found.notes.slice(0, 4).map((note) => displayText(note, 200));
		void notices.information(
			[
				`${name} responded${able.length === 0 ? '' : `. Capabilities: ${able.join(', ')}`}.`,
				...notes,
				sample === '' ? 'No text was returned.' : `Sample: ${sample}`,
			].join(' '),
			[{ title: 'New Search', run: () => this.search(view.spec) }],
		);
		return { ...found, at };
	}

	/**
	 * Implements *Remove Policy*: removes a server and its API key from the settings, or a policy from the recently used
	 * ones. @returns whether the policy was removed
	 */
	async remove(argument?: unknown, confirmed?: unknown): Promise<boolean> {
		const view = await this.#one(argument, 'Remove a policy', ({ spec }) => spec.kind !== 'engine');
		if (view === undefined) return false;
		const { store, keys } = this.#needs;
		const { spec } = view;
		if (spec.kind !== 'openai') {
			await store.forget(spec);
			return true;
		}
		if (confirmed !== true) {
			const answer = await vscode.window.showWarningMessage(
				`Remove ${nameOfPolicy(view)}?`,
				{
					modal: true,
					detail: view.hasKey ? 'Its API key will also be deleted.' : 'Its entry will be removed from the settings.',
				},
				{ title: 'Remove' },
			);
			if (answer === undefined) return false;
		}
		await policySettings.change(spec.name, null);
		await keys.remove(spec);
		store.changed();
		return true;
	}

	/** Implements *Set Policy Key*; an empty key removes the current one. @returns whether a key is now set */
	async setKey(argument?: unknown, given?: unknown): Promise<boolean | undefined> {
		const view = await this.#one(argument, 'Set the API key for a policy', ({ spec }) => spec.kind === 'openai');
		if (view === undefined || view.spec.kind !== 'openai') return undefined;
		const { spec } = view;
		const key =
			typeof given === 'string'
				? given
				: await showInputBox({
						title: `API key for ${nameOfPolicy(view)}`,
						prompt: `Stored in the editor's secret storage and sent only to ${new URL(spec.baseUrl).origin}. Leave empty to remove it.`,
						password: true,
						validateInput: (text) => faultOfKey(text) ?? undefined,
					});
		if (key === undefined) return undefined;
		const fault = faultOfKey(key);
		if (fault !== null) throw new Failure('invalid', fault, 'Copy the key again.');
		const { keys, store } = this.#needs;
		if (key.trim() === '') await keys.remove(spec);
		else await keys.set(spec, key.trim());
		store.changed();
		return key.trim() !== '';
	}

	/** Implements *Set Policy Price*: sets the price per million input and output tokens. */
	async setPrice(argument?: unknown, given?: unknown): Promise<void> {
		const view = await this.#one(argument, 'Set the price for a policy', ({ spec }) => spec.kind === 'openai');
		if (view === undefined || view.spec.kind !== 'openai') return;
		const { price } = view.spec;
		const text =
			typeof given === 'string'
				? given
				: await showInputBox({
						title: `Price of ${nameOfPolicy(view)}`,
						prompt: 'Input and output price per million tokens, and currency. Leave empty for none.',
						placeHolder: '0.5 1.5 USD',
						value: price === undefined ? '' : `${price.input} ${price.output} ${price.currency}`,
						validateInput: (input) => (priceOf(input) === null ? 'Use the format 0.5 1.5 USD.' : undefined),
					});
		if (text === undefined) return;
		const wanted = priceOf(text);
		if (wanted === null) throw new Failure('invalid', `"${text}" is not a valid price.`, 'Use the format 0.5 1.5 USD.');
		await policySettings.change(view.spec.name, { price: wanted });
	}

	/** Implements *Search with Policy*. */
	async search(argument?: unknown): Promise<unknown> {
		const view = await this.#one(argument, 'Search with a policy', () => true);
		if (view === undefined) return undefined;
		return vscode.commands.executeCommand(commandIds.newSearch, { policy: view.spec });
	}

	async refresh(): Promise<void> {
		const { faults } = this.#needs.store;
		this.#needs.store.changed();
		const [fault] = faults;
		if (fault === undefined) return;
		throw new Failure(
			'invalid',
			faults.length === 1 ? fault : `${fault} Other invalid entries: ${faults.length - 1}.`,
			'Fix the setting "reasoningLab.policies".',
		);
	}

	async #one(argument: unknown, title: string, fits: (view: PolicyView) => boolean): Promise<PolicyView | undefined> {
		const { store, tree } = this.#needs;
		const views = await store.list();
		if (typeof argument === 'object' && argument !== null && 'kind' in argument) {
			const spec = decodeOrThrow(policySpecSchema, argument, 'The policy');
			const own = views.find((view) => policyId(view.spec) === policyId(spec));
			return own ?? { spec, run: null, hasKey: false, trial: null };
		}
		const id = typeof argument === 'string' ? argument : tree.selection[0];
		const named = views.find(({ spec }) => policyId(spec) === id);
		if (named !== undefined && fits(named)) return named;
		if (typeof argument === 'string') {
			throw new Failure('missing', 'This policy no longer exists.', 'Refresh the view.');
		}
		const candidates = views.filter(fits);
		if (candidates.length === 0) throw new Failure('missing', 'No matching policy found.', 'Add one with Add Policy.');
		if (candidates.length === 1) return candidates[0];
		const now = Date.now();
		const picked = await showQuickPick(
			candidates.map((view) => {
				const { label, description, icon } = presentPolicy(view, now);
				return { label: `$(${icon.id}) ${label}`, description, view };
			}),
			{ title, placeHolder: 'Select a policy', matchOnDescription: true },
		);
		return picked?.view;
	}
}

/** Validates a server described by the caller. */
function checked(given: object, names: readonly string[]): ServerPolicy {
	const server = decodeOrThrow(policySpecSchema, { ...given, kind: 'openai' }, 'The policy') as ServerPolicy;
	const fault = faultOfName(server.name, names) ?? faultOfUrl(server.baseUrl);
	if (fault !== null) throw new Failure('invalid', fault);
	return server;
}

/** Parses a price such as "0.5 1.5 USD". Returns undefined for empty text and null if it is invalid. */
export function priceOf(text: string): ServerPolicy['price'] | null {
	if (text.trim() === '') return undefined;
	const match = /^(\d+(?:\.\d+)?)[\s,;]+(\d+(?:\.\d+)?)(?:\s+([A-Za-z]{3}|[€$£¥]))?$/.exec(text.trim());
	if (match === null) return null;
	return { input: Number(match[1]), output: Number(match[2]), currency: (match[3] ?? 'USD').toUpperCase() };
}
