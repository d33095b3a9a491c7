import type * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { policyKeyName } from '../../policies/policyKey.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { Notices } from '../notices.ts';
import type { RunStore } from '../runStore.ts';
import type { Choice } from '../search/questions.ts';
import type { WindowSearches } from '../search/windowSearches.ts';
import type { PoliciesTree, PolicyList } from './policiesTree.ts';
import { PolicyCommands } from './policyCommands.ts';
import { PolicyKeys } from './policyKeys.ts';
import { presentPolicy } from './policyPresentation.ts';
import type { PolicyRuns } from './policyRuns.ts';
import { PolicyStore, policyId } from './policyStore.ts';

export interface PolicyWorkbenchNeeds {
	readonly secrets: vscode.SecretStorage;
	/** Stores recently used policies and test results. */
	readonly memory: vscode.Memento;
	readonly store: RunStore;
	readonly notices: Notices;
	readonly tree: PoliciesTree;
	readonly searches: () => Promise<WindowSearches>;
}

/** All policy features that are not needed until the user opens the view, starts a search, or runs a policy command. */
export class PolicyWorkbench extends Disposable {
	readonly store: PolicyStore;
	readonly commands: PolicyCommands;
	readonly #keys: PolicyKeys;

	constructor({ secrets, memory, store, notices, tree, searches }: PolicyWorkbenchNeeds) {
		super();
		this.#keys = new PolicyKeys(secrets);
		this.store = this.register(new PolicyStore(store, this.#keys, memory));
		const runs = async (): Promise<PolicyRuns> => {
			const worker = await searches();
			return {
				probe: (policy, signal) => worker.probe(policy, signal),
				models: async (server, key) => {
					const keys = key === '' ? {} : { [policyKeyName(server)]: key };
					return (await worker.request('models', { policy: server, keys })).models;
				},
			};
		};
		this.commands = new PolicyCommands({ store: this.store, keys: this.#keys, tree, notices, runs });
	}

	/** Returns the API keys of the configured servers, indexed by `policyKeyName`. */
	keys(): Promise<Record<string, string>> {
		return this.#keys.of(this.store.servers);
	}

	/** Returns the servers that can be chosen for a search. */
	async serverChoices(): Promise<Choice<PolicySpec>[]> {
		const now = Date.now();
		return (await this.store.list())
			.filter(({ spec }) => spec.kind === 'openai')
			.map((view) => {
				const { label, description, icon } = presentPolicy(view, now);
				return { label: `$(${icon.id}) ${label}`, description, value: view.spec };
			});
	}

	/** Data for the *Policies* view. */
	get list(): PolicyList {
		const { store } = this;
		return {
			list: async () => (await store.list()).map(({ spec }) => policyId(spec)),
			present: (id) => {
				const view = store.get(id);
				return view === undefined ? null : presentPolicy(view, Date.now());
			},
			onDidChange: store.onDidChange,
		};
	}
}
