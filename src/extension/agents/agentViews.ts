import * as vscode from 'vscode';
import type { OpenViews, ReturningView } from '../openViews.ts';

/** A view opened by an agent, and how to undo it. */
interface ShownByAgent {
	readonly tab: vscode.Tab | undefined;
	/** Whether the tab was opened for this view. */
	readonly opened: boolean;
	/** Whether the tab already had focus. */
	readonly wasActive: boolean;
	/** The panel in the tab, which can restore its earlier state. */
	readonly view: ReturningView | null;
}

/** Opens views for agents, and restores the previous state. */
export class AgentViews {
	readonly #views: OpenViews;
	/** Only the latest view can be undone, because panels keep just one earlier state. */
	#latest: ShownByAgent | null = null;

	constructor(views: OpenViews) {
		this.#views = views;
	}

	/** Runs a function that opens an editor, so that {@link back} can undo it. */
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
	 * Closes the tab that the agent opened, or restores the earlier state of a panel that was already open and returns
	 * focus to the previous editor. Returns false if there is nothing to undo.
	 */
	async back(): Promise<boolean> {
		const latest = this.#latest;
		this.#latest = null;
		if (latest === null) return false;
		const { tab, opened, wasActive, view } = latest;
		if (view !== null && this.#views.has(view)) view.restoreState();
		if (opened && tab !== undefined) {
			// Closing a new tab reactivates the previous editor.
			if (isOpen(tab)) await vscode.window.tabGroups.close(tab);
		} else if (!wasActive && tab !== undefined && vscode.window.tabGroups.activeTabGroup.activeTab === tab) {
			await vscode.commands.executeCommand('workbench.action.openPreviousRecentlyUsedEditor');
		}
		return true;
	}
}

const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);
const isOpen = (tab: vscode.Tab): boolean => allTabs().includes(tab);

/** Waits up to 2 s for a new panel's tab to become active, which happens some time after the panel is created. */
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
