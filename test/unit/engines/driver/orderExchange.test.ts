import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import { OrderExchange } from '../../../../src/engines/driver/orderExchange.ts';

const never = 1 << 30;

it('sends orders one at a time and returns each answer to its requester', async () => {
	const orders = new OrderExchange(never);
	const question = orders.open([]);
	const generated = orders.give({ do: 'generate', params: { n: 1 } });
	assert.deepEqual(await question, { orders: [{ do: 'generate', id: 1, params: { n: 1 } }] });
	// This order is placed before the trainer asks again, so it is sent in reply to the next question.
	const scored = orders.give({ do: 'score', params: {} });
	assert.deepEqual(await orders.open([{ id: 1, value: 'text' }]), { orders: [{ do: 'score', id: 2, params: {} }] });
	assert.equal(await generated, 'text');
	orders.end({ do: 'continue', hyperparameters: { beta: 0.1 } });
	const refused = assert.rejects(scored, { reason: 'unsupported', message: 'No.', action: 'Leave it.' });
	assert.deepEqual(
		await orders.open([{ id: 2, error: { reason: 'unsupported', message: 'No.', action: 'Leave it.' } }]),
		{ orders: [{ do: 'continue', hyperparameters: { beta: 0.1 } }] },
	);
	await refused;
});

it('sends wait orders to an idle trainer instead of leaving it without a reply', async () => {
	const orders = new OrderExchange(1);
	assert.deepEqual(await orders.open([]), { orders: [{ do: 'wait' }] });
	assert.deepEqual(await orders.open([]), { orders: [{ do: 'wait' }] });
	orders.end({ do: 'stop' });
	assert.deepEqual(await orders.open([]), { orders: [{ do: 'stop' }] });
});

it('handles an unanswered order, an unexpected answer and a second question', async () => {
	const orders = new OrderExchange(never);
	const question = orders.open([]);
	const lost = assert.rejects(orders.give({ do: 'generate', params: {} }), /did not answer/);
	await question;
	const next = orders.open([{ id: 77, value: 1 }]);
	await lost;
	await assert.rejects(orders.open([]), { reason: 'invalid' });
	orders.end({ do: 'stop' });
	assert.deepEqual(await next, { orders: [{ do: 'stop' }] });
});

it('rejects everything pending with the reason when it closes', async () => {
	const orders = new OrderExchange(never);
	const over = new Failure('unavailable', 'It is over.');
	const given = assert.rejects(orders.give({ do: 'generate', params: {} }), over);
	await orders.open([]);
	orders.close(over);
	await given;
	const waiting = new OrderExchange(never);
	const question = assert.rejects(waiting.open([]), over);
	waiting.close(over);
	await question;
	await assert.rejects(orders.open([]), over);
	await assert.rejects(orders.give({ do: 'score', params: {} }), over);
	orders.end({ do: 'stop' });
});
