// @reaches rewardHost rewardPython
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, type TestContext, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { decodeOrThrow } from '../../../../src/protocol/decode.ts';
import { episodeStateSchema } from '../../../../src/protocol/episodeMessages.ts';
import { launchChromium, skip } from '../../../support/chromium.ts';
import { patience, soon } from '../lateness.ts';
import { looksRight, looksRightNow } from '../webviewLooks.ts';
import { type EpisodeView, openEpisodeView, writeEnvironment } from './episodeHarness.ts';

const options = { timeout: patience(240_000), skip };

/** An environment with every kind of argument, output, state, and failure. */
const garden = `
import time

class Garden:
    reward_range = (0, 1)

    def reset(self, size: int = 3, **row) -> str | None:
        self.size = size
        self.beds = [["empty"] * size for _ in range(size)]
        self.moves = 0
        self.done = False
        if size == 13:
            raise ValueError("No garden has this size.")
        return f"A garden of {size} by {size} beds."

    def plant(self, row: int, column: int, kind: str = "rose", tags: list[str] | None = None) -> str:
        """
        Plants something in a bed.

        Args:
            row: Row of the bed, from 0.
            column: Column of the bed, from 0.
            kind: What to plant. (choices: ["rose", "tulip"])
            tags: Labels for the bed.

        Returns:
            What grows there now.
        """
        self.moves += 1
        print("planting", kind)
        if self.beds[row][column] != "empty":
            raise ValueError("Something grows there already.")
        self.beds[row][column] = kind
        self.done = self.moves >= 4
        return f"A {kind} grows in bed {row}, {column}."

    def look(self, slow: bool, amount: float = 1.0) -> str:
        """
        Looks at the garden.

        Args:
            slow: Whether to take a minute.
            amount: How much to see.
        """
        if slow:
            time.sleep(60)
        return "<img src=x onerror=alert(1)>" if amount < 0 else "." * int(amount)

    def get_reward(self):
        return sum(bed != "empty" for row in self.beds for bed in row) / self.size**2
`;

let browser: Browser;
before(async () => {
	if (!skip) browser = await launchChromium();
});
after(() => browser?.close());

/** Opens the view and closes it after the test, which fails if the page had an error. */
async function open(t: TestContext, more: Parameters<typeof openEpisodeView>[1]): Promise<EpisodeView> {
	const view = await openEpisodeView(browser, more);
	t.after(async () => {
		const { errors, faults } = view;
		await view.close();
		assert.deepEqual([errors, faults], [[], []], 'page errors');
	});
	return view;
}

const click = (view: EpisodeView, name: string) => view.page.getByRole('button', { name, exact: true }).first().click();
const rowSelect = (view: EpisodeView) => view.page.getByRole('combobox', { name: 'Row', exact: true });
const field = (view: EpisodeView, name: string) => view.page.getByLabel(name).first();
const shows = (view: EpisodeView, text: string | RegExp) => view.page.locator('.turn', { hasText: text }).waitFor();

test('an episode is played by hand, replayed, branched, and compared with new code', options, async (t) => {
	const file = await writeEnvironment(garden, [{ size: 3 }, { size: 2 }, { size: 13 }]);
	const view = await open(t, { file, width: 1100, height: 900, turnMs: 2000 });
	const { page, session } = view;
	page.setDefaultTimeout(patience(10_000));

	await t.test('the form checks its values, and a call shows its output and state', async () => {
		await page.getByText('No episodes yet').waitFor();
		await looksRightNow(view, 'episode-empty');
		await rowSelect(view).selectOption({ index: 1 });
		await click(view, 'Reset');
		await shows(view, 'A garden of 2 by 2 beds.');
		await page.getByRole('combobox', { name: 'Tool' }).selectOption('plant');
		await field(view, 'row integer').fill('one');
		await field(view, 'tags').selectOption('value');
		await field(view, 'tags list of string').fill('["new"');
		await click(view, 'Send');
		const faults = page.locator('.next .problem:not(:empty)');
		assert.deepEqual(await faults.allInnerTexts(), [
			'Enter an integer.',
			'Enter an integer.',
			...(await faults.allInnerTexts()).slice(2),
		]);
		assert.match((await faults.allInnerTexts())[2] ?? '', /Invalid JSON/);
		await field(view, 'row integer').fill('0');
		await field(view, 'column integer').fill('1');
		await field(view, 'tags list of string').fill('["new"]');
		await field(view, 'column integer').press('Control+Enter');
		await shows(view, 'A rose grows in bed 0, 1.');
		await shows(view, 'planting rose');
		assert.match(await page.locator('.state tr', { hasText: 'moves' }).innerText(), /moves\s+\(changed\)\s+1\s+0/);
		assert.match(await page.locator('.state tr', { hasText: 'beds' }).innerText(), /\[0\]\[1\]: "empty"/);
		await looksRight(view, 'episode', [340, 760]);
	});

	await t.test('several calls in one turn, failed calls, and the reward are shown', async () => {
		await field(view, 'tags').selectOption('omitted');
		await click(view, 'Add Call');
		await field(view, 'column integer').fill('0');
		await click(view, 'Send');
		await shows(view, 'Something grows there already.');
		await shows(view, 'plant raised an exception.');
		assert.equal(await page.locator('.turn .result').count(), 2);
		await click(view, 'Get Reward');
		await page.locator('.outcome', { hasText: 'reward 0.5' }).waitFor();
		await looksRightNow(view, 'episode-failed-call');
	});

	await t.test('an episode is replayed by keyboard, by slider, and at a given speed', async () => {
		await page.locator('body').press('Home');
		await shows(view, 'A garden of 2 by 2 beds.');
		await page.locator('body').press('ArrowRight');
		await shows(view, 'A rose grows in bed 0, 1.');
		await page.getByRole('slider', { name: 'Turn' }).fill('0');
		await shows(view, 'A garden of 2 by 2 beds.');
		await page.getByRole('combobox', { name: 'Replay speed' }).click();
		await page.getByRole('option', { name: '32×' }).click();
		await click(view, 'Play');
		await shows(view, 'Something grows there already.');
		await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
	});

	await t.test('a branch starts after an earlier turn', async () => {
		await page.locator('.turns button', { hasText: 'plant' }).first().click();
		await page.getByText('Branch after turn 1').waitFor();
		await field(view, 'row integer').fill('1');
		await click(view, 'Send');
		await shows(view, 'A rose grows in bed 1, 0.');
		await page.getByText('Different calls from turn 2 onward').waitFor();
		assert.equal(session.branches.length, 2);
		assert.deepEqual(session.branches[1]?.origin, { kind: 'branch', of: 1, turn: 1 });
		assert.equal(session.branches[1]?.turns[1]?.state?.moves, 2, 'the first turn was repeated');
		await looksRightNow(view, 'episode-branch');
	});

	await t.test('saving a change replays earlier calls and shows what differs', async () => {
		await writeFile(file, (await readFile(file, 'utf8')).replace('grows in bed {row}', 'blooms in bed {row}'));
		session.changed();
		await page.locator('.episode-bar', { hasText: 'Replay 3' }).waitFor();
		await session.settled;
		await page.getByText(/Result of plant in turn 1 \("A rose grows in bed 0, 1\.", "A rose blooms/).waitFor();
		await shows(view, 'In Branch 2');
		assert.equal(await page.locator('.turns .mark.differs').count(), 2);
		await looksRight(view, 'episode-difference', [340]);
		await writeFile(file, (await readFile(file, 'utf8')).replace('def plant', 'def plant(('));
		session.changed();
		await page.locator('.notice', { hasText: 'SyntaxError' }).waitFor();
		await page.getByRole('button', { name: /^Open Line/ }).click();
		await soon(() => assert.equal(view.commands.at(-1)?.type, 'openFile'));
		await looksRightNow(view, 'episode-broken');
		await writeFile(file, (await readFile(file, 'utf8')).replace('def plant((', 'def plant'));
		session.changed();
		await page.locator('.notice').waitFor({ state: 'hidden' });
		await session.settled;
		assert.equal(session.branches.length, 3, 'each replay replaces the previous one');
	});

	await t.test('an environment that hangs or fails is reported, and the view stays usable', async () => {
		await page.locator('.episodes button', { hasText: 'Episode 1' }).click();
		await page.getByRole('combobox', { name: 'Tool' }).selectOption('look');
		await field(view, 'slow boolean').selectOption('true');
		await click(view, 'Send');
		await page.locator('.remark.bad', { hasText: /Turn 1 failed: .*2 s/ }).waitFor();
		await page.getByText('Go back to an earlier turn').waitFor();
		await looksRightNow(view, 'episode-timeout');
		await click(view, 'Previous turn');
		await field(view, 'slow boolean').selectOption('false');
		await field(view, 'amount').selectOption('value');
		await field(view, 'amount number').fill('100000');
		await click(view, 'Send');
		await click(view, 'Show all 100,000 characters');
		assert.equal((await page.locator('.turn .result .text').innerText()).length, 100_000);
		await field(view, 'amount number').fill('-1');
		await click(view, 'Send');
		await shows(view, '<img src=x onerror=alert(1)>');
		assert.equal(await page.locator('.turn img').count(), 0);
		await field(view, 'slow boolean').selectOption('true');
		await click(view, 'Send');
		await click(view, 'Stop');
		await page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'hidden' });
		await rowSelect(view).selectOption({ index: 2 });
		await click(view, 'Reset');
		await page.locator('.remark.bad', { hasText: 'reset failed: ValueError: No garden has this size.' }).waitFor();
		await click(view, 'Edit Row');
		const columns = page.getByLabel('Columns of the row, as JSON');
		await columns.fill('{"size": 1');
		await click(view, 'Reset');
		await page.locator('.page-head .problem', { hasText: 'Invalid JSON' }).waitFor();
		await columns.fill('{"size": 1}');
		await click(view, 'Reset');
		await shows(view, 'A garden of 1 by 1 beds.');
	});

	await t.test('the view is the same after a reload', async (inner) => {
		const count = await page.locator('.episodes .row').count();
		await page.locator('.turn', { hasText: 'A garden of 1 by 1 beds.' }).waitFor();
		const state = decodeOrThrow(episodeStateSchema, await view.state(), 'The state');
		const started = { branches: state.branches, show: state.show };
		const again = await open(inner, { file, started, state, width: 1100, height: 900 });
		await again.page.locator('.turn', { hasText: 'A garden of 1 by 1 beds.' }).waitFor();
		assert.equal(await again.page.locator('.episodes .row').count(), count);
		await again.page.locator('.next').waitFor();
		await again.page.locator('.episodes button', { hasText: 'Episode 1' }).click();
		await again.session.settled;
		await click(again, 'Get Reward');
		await again.page.locator('.outcome', { hasText: 'reward 0.5' }).waitFor();
	});
});

test('in an untrusted workspace, nothing runs, and the view explains why', options, async (t) => {
	const file = await writeEnvironment(garden);
	const view = await open(t, { file, forbidden: 'Environments are disabled because this workspace is not trusted.' });
	await view.page.getByText('Environment disabled').waitFor();
	await click(view, 'Manage Workspace Trust');
	await soon(() => assert.deepEqual(view.commands, [{ type: 'trust' }]));
	assert.deepEqual(view.session.files, []);
	await looksRightNow(view, 'episode-untrusted');
});
