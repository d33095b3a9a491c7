import * as vscode from 'vscode';
import type { OpenViews, ReturningView } from '../openViews.ts';

/** What an agent showed, and how to undo it. */
interface ShownByAgent {
	readonly tab: vscode.Tab | undefined;
	/** Whether the tab was opened for it. */
	readonly opened: boolean;
	/** Whether the tab had the focus before. */
	readonly wasActive: boolean;
	/** The panel in the tab, which can return to its earlier state. */
	readonly view: ReturningView | null;
}

/** Opens what agents show, and returns to what was there before. */
export class AgentViews {
	readonly #views: OpenViews;
	/** Only the latest can be undone, because panels keep one earlier state. */
	#latest: ShownByAgent | null = null;

	constructor(views: OpenViews) {
		this.#views = views;
	}

	/** Runs a function that opens an editor, such that {@link back} undoes it. */
	async show(open: () => Promise<unknown>): Promise<void> {
		const before = new Set(allTabs());
		const panels = this.#views.count;
		const active = vscode.window.tabGroups.activeTabGroup.activeTab;
		this.#views.keepStates();
		await open();
		if (this.#views.count > panels) await newTab(before);
		const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
		const opened = tab !== undefined && !before.has(tab);
		this.#latest = { tab, opened, wasActive: tab === active, view: opened ? null : this.#views.active };
	}

	/**
	 * Closes the tab that the agent opened, or returns a panel that was already open to its earlier state and the focus to
	 * the editor before. Returns false if there is nothing to undo.
	 */
	async back(): Promise<boolean> {
		const latest = this.#latest;
		this.#latest = null;
		if (latest === null) return false;
		const { tab, opened, wasActive, view } = latest;
		if (view !== null && this.#views.has(view)) view.restoreState();
		if (opened && tab !== undefined) {
			// Closing a new tab brings back the editor that was active before.
			if (isOpen(tab)) await vscode.window.tabGroups.close(tab);
		} else if (!wasActive && tab !== undefined && vscode.window.tabGroups.activeTabGroup.activeTab === tab) {
			await vscode.commands.executeCommand('workbench.action.openPreviousRecentlyUsedEditor');
		}
		return true;
	}
}

const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
const isOpen = (tab: vscode.Tab): boolean => allTabs().includes(tab);

/** Waits until a new panel has a tab that is active, which it gets after it has been created, for 2 s at most. */
function newTab(before: ReadonlySet<vscode.Tab>): Promise<void> {
	return new Promise((resolve) => {
		const look = () => {
			const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
			if (tab !== undefined && !before.has(tab)) done();
		};
		const done = () => {
			clearTimeout(timer);
			subscription.dispose();
			resolve();
		};
		const timer = setTimeout(done, 2000);
		const subscription = vscode.window.tabGroups.onDidChangeTabs(look);
		look();
	});
}
