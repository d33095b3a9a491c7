import { lstat } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as v from 'valibot';
import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Emitter } from '../../base/event.ts';
import { decode } from '../../protocol/decode.ts';
import { type PolicySpec, policySpecSchema } from '../../protocol/policySpec.ts';
import type { SearchResult } from '../../protocol/searchWorker.ts';
import { searchRequests } from '../../protocol/searchWorker.ts';
import type { RunStore } from '../runStore.ts';
import { isLive, nameOf } from '../runView.ts';
import type { PolicyKeys } from './policyKeys.ts';
import type { PolicyTrial, PolicyView } from './policyPresentation.ts';
import { policySettings, type ServerPolicy } from './policySettings.ts';

const recentKey = 'policies.recent';
const trialsKey = 'policies.trials';
/** Maximum number of recently used checkpoints and scripts. */
const maxRecent = 8;
const maxTrials = 100;

const recentSchema = v.array(policySpecSchema);
const trialSchema = v.record(v.string(), v.object({ ...searchRequests.probe.result.entries, at: v.number() }));

/** Returns the ID of a policy, which depends only on its location, not on other settings. */
export function policyId(spec: PolicySpec): string {
	switch (spec.kind) {
		case 'openai':
			return JSON.stringify([spec.kind, spec.name]);
		case 'engine':
			return JSON.stringify([spec.kind, spec.run]);
		case 'checkpoint':
			return JSON.stringify([spec.kind, spec.folder]);
		case 'scripted':
			return JSON.stringify([spec.kind, spec.file]);
	}
}

/** The policies available to users: servers from the settings, running engines, and recently used policies. */
export class PolicyStore extends Disposable {
	readonly #store: RunStore;
	readonly #keys: PolicyKeys;
	readonly #memory: vscode.Memento;
	readonly #changed = this.register(new Emitter<void>());
	#views: readonly PolicyView[] = [];
	#shown = '';
	readonly onDidChange = this.#changed.event;

	constructor(store: RunStore, keys: PolicyKeys, memory: vscode.Memento) {
		super();
		this.#store = store;
		this.#keys = keys;
		this.#memory = memory;
		this.register(policySettings.onDidChange(() => this.#changed.fire()));
		// Runs change up to twice a second, but the list changes only when a run starts or ends.
		this.register(
			store.onDidChange(() => {
				if (this.#engines().map(policyId).join() !== this.#shown) this.#changed.fire();
			}),
		);
	}

	/** Policies as of the last refresh. */
	get policies(): readonly PolicyView[] {
		return this.#views;
	}

	get servers(): readonly ServerPolicy[] {
		return policySettings.servers().servers;
	}

	/** Problems in the settings. */
	get faults(): readonly string[] {
		return policySettings.servers().faults;
	}

	get(id: string): PolicyView | undefined {
		return this.#views.find(({ spec }) => policyId(spec) === id);
	}

	/** Refreshes the list: servers first, then engines, then recently used policies. */
	async list(): Promise<readonly PolicyView[]> {
		const engines = this.#engines();
		this.#shown = engines.map(policyId).join();
		const recent = await Promise.all(this.#recent().map(async (spec) => ((await exists(spec)) ? spec : null)));
		const specs: PolicySpec[] = [...this.servers, ...engines, ...recent.filter((spec) => spec !== null)];
		const trials = this.#trials();
		this.#views = await Promise.all(
			specs.map(async (spec) => ({
				spec,
				run: this.#runOf(spec),
				hasKey: spec.kind === 'openai' && (await this.#keys.has(spec)),
				trial: trials[trialId(spec)] ?? null,
			})),
		);
		return this.#views;
	}

	/** Called when a search with this policy has started. */
	async used(spec: PolicySpec): Promise<void> {
		if (spec.kind !== 'checkpoint' && spec.kind !== 'scripted') return;
		const others = this.#recent().filter((other) => policyId(other) !== policyId(spec));
		await this.#memory.update(recentKey, [spec, ...others].slice(0, maxRecent));
		this.#changed.fire();
	}

	/** Removes a policy from the recently used ones. */
	async forget(spec: PolicySpec): Promise<void> {
		await this.#memory.update(
			recentKey,
			this.#recent().filter((other) => policyId(other) !== policyId(spec)),
		);
		this.#changed.fire();
	}

	async tried(spec: PolicySpec, found: SearchResult<'probe'>, at: number): Promise<void> {
		const own = trialId(spec);
		const others = Object.entries(this.#trials()).filter(([id]) => id !== own);
		await this.#memory.update(trialsKey, Object.fromEntries([[own, { ...found, at }], ...others.slice(0, maxTrials)]));
		this.#changed.fire();
	}

	/** Called when something the store does not track has changed, such as an API key. */
	changed(): void {
		this.#changed.fire();
	}

	#engines(): PolicySpec[] {
		return this.#store.inUse.filter(isLive).map(({ folder }) => ({ kind: 'engine', run: folder }));
	}

	#recent(): PolicySpec[] {
		const stored = decode(recentSchema, this.#memory.get(recentKey) ?? []);
		return stored.ok ? stored.value : [];
	}

	#trials(): Readonly<Record<string, PolicyTrial>> {
		const stored = decode(trialSchema, this.#memory.get(trialsKey) ?? {});
		return stored.ok ? stored.value : {};
	}

	#runOf(spec: PolicySpec): string | null {
		const folder =
			spec.kind === 'engine' ? spec.run : spec.kind === 'checkpoint' ? dirname(dirname(spec.folder)) : null;
		const view = folder === null ? undefined : this.#store.get(folder);
		return view === undefined ? null : nameOf(view);
	}
}

/** Returns a cache key that covers everything a test result depends on. */
function trialId(spec: PolicySpec): string {
	if (spec.kind !== 'openai') return policyId(spec);
	const { baseUrl, model, api, system, template, extra } = spec;
	return JSON.stringify([baseUrl, model, api, system, template, extra]);
}

async function exists(spec: PolicySpec): Promise<boolean> {
	const path = spec.kind === 'checkpoint' ? spec.folder : spec.kind === 'scripted' ? spec.file : null;
	return path !== null && (await lstat(path).catch(() => null)) !== null;
}
