import * as vscode from 'vscode';
import { decode } from '../../protocol/decode.ts';
import {
	type FormProblem,
	type NewSearchEvent,
	type OfferedPolicy,
	type OfferedRows,
	type PolicyFacts,
	type SearchDraft,
	searchDraftSchema,
} from '../../protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import { runOf } from '../panels/playground/describePolicy.ts';
import { nameOfPolicy } from '../policies/policyPresentation.ts';
import { displayText } from '../runView.ts';
import { policyFacts } from './policyFacts.ts';
import { askPolicy, runPolicies } from './policyQuestion.ts';
import { askProblem } from './problemQuestion.ts';
import { offeredScorers } from './scorerQuestion.ts';
import type { SearchEnvironments } from './searchEnvironments.ts';
import type { SearchWorkbenchNeeds } from './searchNeeds.ts';
import { searchSettings } from './searchSettings.ts';
import type { WindowSearches } from './windowSearches.ts';

const lastKey = 'searches.last';

type Needs = Pick<SearchWorkbenchNeeds, 'store' | 'files' | 'memory' | 'policies'> & {
	readonly searches: WindowSearches;
	readonly episodes: SearchEnvironments;
};

/** Contents of the *New Search* form, with defaults from the workspace's last search. */
export class SearchForm {
	readonly #needs: Needs;

	constructor(needs: Needs) {
		this.#needs = needs;
	}

	/**
	 * Returns the contents of the form.
	 * @param given values set by the caller; null keeps the user's input
	 */
	async contents(given: SearchDraft | null): Promise<NewSearchEvent> {
		const { store, files, searches, episodes } = this.#needs;
		await store.ready;
		const [policies, scorers, environments] = await Promise.all([
			this.#policies(),
			offeredScorers(files),
			episodes.offered(),
		]);
		return {
			type: 'snapshot',
			forbidden: searches.forbidden(),
			policies: policies.map(({ offered }) => offered),
			scorers,
			environments,
			budget: searchSettings.budget(vscode.workspace.workspaceFolders?.[0]?.uri),
			draft: given === null ? null : this.#draft(given, policies),
		};
	}

	async facts(policy: PolicySpec): Promise<PolicyFacts> {
		const environment = await this.#needs.episodes.trained(policy);
		return { ...(await policyFacts(policy)), environment };
	}

	/** Returns rows that episodes can be played on. */
	rows(environment: SearchEnvironment, policy: PolicySpec | undefined): Promise<OfferedRows> {
		return this.#needs.episodes.rows(environment, policy);
	}

	chooseServer(): Promise<SearchEnvironment | null> {
		return this.#needs.episodes.chooseServer();
	}

	/** Asks for any policy, such as a new server or a script. */
	async choosePolicy(): Promise<OfferedPolicy | null> {
		const { store, policies } = this.#needs;
		const answer = await askPolicy({ title: 'New Search: policy', step: 1, steps: 1 }, store, policies, null);
		if (answer === 'back' || answer === 'cancel') return null;
		const known = (await this.#policies()).find(({ offered }) => same(offered.spec, answer.value))?.offered;
		return (
			known ?? {
				group: 'Other',
				label: nameOfPolicy({ spec: answer.value, run: null }),
				detail: '',
				spec: answer.value,
			}
		);
	}

	/** Asks for a problem: a row of a dataset file, the selection, or text. */
	async chooseProblem(): Promise<FormProblem | null> {
		const answer = await askProblem({ title: 'New Search: problem', step: 1, steps: 1 });
		return answer === 'back' || answer === 'cancel' ? null : answer.value;
	}

	/** Remembers a search that was started, to provide defaults for the next one. */
	async remember(draft: SearchDraft): Promise<void> {
		const { tools, environment, tags: _t, seed: _s, ...rest } = draft;
		// Agent and episode searches are not suitable defaults for a search without tools or an environment.
		if ((tools ?? []).length === 0 && !environment) await this.#needs.memory.update(lastKey, rest);
	}

	#draft(given: SearchDraft, policies: readonly Offered[]): SearchDraft {
		const stored = decode(searchDraftSchema, this.#needs.memory.get(lastKey) ?? {});
		const last: SearchDraft = stored.ok ? stored.value : {};
		const known = policies.some(({ offered }) => last.policy !== undefined && same(offered.spec, last.policy));
		const newest = policies.find(({ own }) => own);
		const first = policies.find(({ own, best, run }) => own && best && run === newest?.run) ?? newest ?? policies[0];
		const policy = given.policy ?? (known ? last.policy : first?.offered.spec);
		const { params, guide, judge, problem, ...kept } = last;
		const sameStrategy = given.strategy === undefined || given.strategy === last.strategy;
		// Parameters and scorers belong to a strategy. A small model may be unable to handle another run's problem.
		const draft = {
			...kept,
			...(sameStrategy ? { params, guide, judge } : {}),
			...(readsSame(policy, last.policy) ? { problem } : {}),
			...given,
			policy,
		};
		return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
	}

	async #policies(): Promise<Offered[]> {
		const { store, policies } = this.#needs;
		const own = (await runPolicies(store)).map(({ label, detail, spec, best }): Offered => {
			return { offered: { group: 'Runs', label, detail, spec }, own: true, best, run: runOf(spec) };
		});
		const others = await (await policies()).store.list();
		return [
			...own,
			...others
				.filter(({ spec }) => !own.some(({ offered }) => same(offered.spec, spec)))
				.map((view): Offered => {
					const detail = view.spec.kind === 'openai' ? displayText(view.spec.model, 80) : '';
					const group = view.spec.kind === 'openai' ? 'Servers' : 'Recent';
					return {
						...{ own: false, best: false, run: null },
						offered: { group, label: nameOfPolicy(view), detail, spec: view.spec },
					};
				}),
		];
	}
}

interface Offered {
	readonly offered: OfferedPolicy;
	/** Whether the policy comes from a run in the workspace. */
	readonly own: boolean;
	readonly best: boolean;
	/** Folder of its run. */
	readonly run: string | null;
}

/** Returns whether two policies are the same or come from the same run. */
function readsSame(a: PolicySpec | undefined, b: PolicySpec | undefined): boolean {
	if (a === undefined || b === undefined) return false;
	const run = runOf(a);
	return same(a, b) || (run !== null && run === runOf(b));
}

const same = (a: PolicySpec, b: PolicySpec): boolean => JSON.stringify(a) === JSON.stringify(b);
