import type * as vscode from 'vscode';
import { Disposable, type IDisposable, toDisposable } from '../../base/disposable.ts';
import { claimNotice } from '../noticeClaims.ts';
import type { Notices } from '../notices.ts';
import type { RunStore } from '../runStore.ts';
import { displayText, nameOf, type RunView } from '../runView.ts';
import { settings } from '../settings.ts';
import type { Diagnoses, DiagnosisLease } from './diagnoses.ts';
import type { StandingAlert } from './runDiagnosis.ts';

interface Needs {
	readonly store: Pick<RunStore, 'own' | 'get' | 'onDidChange'>;
	readonly notices: Pick<Notices, 'information' | 'warning'>;
	/** Folder shared by all windows. */
	readonly storage: vscode.Uri;
	readonly log: Pick<vscode.LogOutputChannel, 'warn'>;
	readonly openDashboard: (folder: string) => unknown;
	readonly openRollouts: (folder: string, place: { step: number; group: number; index?: number }) => unknown;
}

/** Maximum number of runs followed concurrently; the newest ones take precedence. */
const maxRuns = 8;

const isGoing = ({ record, status }: RunView) =>
	record !== null && (status === 'starting' || status === 'running' || status === 'paused');

/**
 * Diagnoses the live runs in the window if the setting is enabled. Shows at most one notification per run and rule,
 * across all windows and reloads. The rules are loaded only when there is a run to diagnose.
 */
export class DiagnosisWatch extends Disposable {
	readonly #needs: Needs;
	readonly #leases = new Map<string, { readonly lease: DiagnosisLease; readonly listener: IDisposable }>();
	readonly #reported = new Set<string>();
	#diagnoses: Promise<Diagnoses> | null = null;
	#looking = false;

	constructor(needs: Needs) {
		super();
		this.#needs = needs;
		this.register(needs.store.onDidChange(() => this.#look()));
		this.register(settings.onDidChangeDiagnosis(() => this.#look()));
		this.register(toDisposable(() => this.#letGo(() => true)));
	}

	/** Returns the diagnoses for dashboards to use, or null if diagnosis is disabled. */
	async diagnoses(): Promise<Diagnoses | null> {
		return settings.diagnosis() ? this.#loaded() : null;
	}

	#loaded(): Promise<Diagnoses> {
		this.#diagnoses ??= (async () => {
			const { Diagnoses } = await import('./diagnoses.ts');
			return this.register(new Diagnoses({ warn: (message) => this.#needs.log.warn(message) }));
		})();
		return this.#diagnoses;
	}

	#look(): void {
		if (this.disposed) return;
		const wanted = settings.diagnosis() ? this.#needs.store.own.filter(isGoing).slice(0, maxRuns) : [];
		const folders = new Set(wanted.map(({ folder }) => folder));
		// Release a finished run once its diagnosis is complete.
		this.#letGo((folder, { lease }) => {
			if (folders.has(folder)) return false;
			return !settings.diagnosis() || (lease.diagnosis.state.phase === 'ready' && !lease.diagnosis.live);
		});
		if (wanted.every(({ folder }) => this.#leases.has(folder)) || this.#looking) return;
		this.#looking = true;
		void this.#loaded().then((diagnoses) => {
			this.#looking = false;
			if (this.disposed || !settings.diagnosis()) return;
			for (const { folder } of wanted) {
				if (this.#leases.has(folder)) continue;
				const lease = diagnoses.lease(folder);
				const listener = lease.diagnosis.onDidChange(() => this.#tell(folder, lease));
				this.#leases.set(folder, { lease, listener });
			}
		});
	}

	#letGo(which: (folder: string, entry: { readonly lease: DiagnosisLease }) => boolean): void {
		for (const [folder, entry] of this.#leases) {
			if (!which(folder, entry)) continue;
			entry.listener.dispose();
			entry.lease.dispose();
			this.#leases.delete(folder);
		}
	}

	#tell(folder: string, { diagnosis }: DiagnosisLease): void {
		const view = this.#needs.store.get(folder);
		const { phase, alerts } = diagnosis.state;
		if (view === undefined || phase !== 'ready' || !settings.notifyAlerts()) return;
		const news = alerts.filter(({ alert, holds, dismissed }) => {
			if (!holds || dismissed || alert.level === 'info') return false;
			const identity = identityOf(view, alert.rule);
			if (this.#reported.has(identity)) return false;
			this.#reported.add(identity);
			return true;
		});
		if (news.length > 0) void this.#notify(view, news);
	}

	async #notify(view: RunView, news: readonly StandingAlert[]): Promise<void> {
		const { notices, storage, openDashboard, openRollouts } = this.#needs;
		const claimed: StandingAlert[] = [];
		for (const one of news) {
			if (await claimNotice(storage, identityOf(view, one.alert.rule))) claimed.push(one);
		}
		const [first, ...more] = claimed;
		if (first === undefined) return;
		const { message, evidence, level, cause } = first.alert;
		const [place] = evidence;
		const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
		const likely = cause === undefined ? '' : `likely cause: ${displayText(cause, 100)}. `;
		const text = `${nameOf(view)}: ${likely}${displayText(message, 400)}${others}`;
		await notices[level === 'error' ? 'warning' : 'information'](text, [
			{ title: 'Open Dashboard', run: () => openDashboard(view.folder) },
			...(place === undefined
				? []
				: [
						{
							title: 'Show Rollouts',
							run: () =>
								openRollouts(view.folder, {
									step: place.step,
									group: place.group,
									...(place.index === undefined ? {} : { index: place.index }),
								}),
						},
					]),
		]);
	}
}

const identityOf = (view: RunView, rule: string) => `${view.folder}\nalert\n${view.record?.id}\n${rule}`;
