// What went wrong in a run, and its packets, compared with the run's tables, on small runs that each show one thing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { exportRuns, remove } from "./browser.mjs";
import { charts, drawn, near, reason, settle, stage, table, visit } from "./stage.mjs";

describe("what happened", { skip: reason, timeout: 1_200_000 }, () => {
  test("calls no ordinary slow start a stall", async () => {
    const { page, close } = await visit("#/watch?run=slow-start");
    await page.locator(".findings > h3", { hasText: "Nothing went wrong" }).waitFor();
    assert.equal(await page.locator(".finding").count(), 0);
    await close();
  });

  test("puts the dearest moment first, with its cause, its effect and its cost", async () => {
    const { page, close } = await visit("#/watch?run=outage");
    await page.locator(".finding").first().waitFor();
    // The flow that fell behind most is the tenth, which no chart shows at first.
    assert.match(await page.locator(".finding").first().innerText(), /^fast · 15\.\d\d s/);
    const texts = await page.locator(".cause-chain dd").allTextContents();
    const { time_s: times, flow, received, goodput_bps: goodput } = await table("outage", "flow_series");
    const rows = times.map((_, row) => row).filter((row) => flow[row] === "fast");
    const { flow: lostBy, time_s: lostAt, is_ack: ack } = await table("outage", "drops");
    // From the table: nothing arrived between the last arrival before 16 s and the next.
    const last = rows.filter((row) => received[row] > 0 && times[row] < 16).at(-1);
    const next = rows.find((row) => received[row] > 0 && row > last && times[row] > 16);
    const [begin, end] = [times[last], times[next] - 0.1];
    const said = /from (\d+\.\d\d) s to (\d+\.\d\d) s/.exec(texts[1]);
    near(Number(said[1]), begin, 0.011, "begin of the silence");
    near(Number(said[2]), end, 0.011, "end of the silence");
    const lost = lostAt.filter(
      (time, row) => lostBy[row] === "fast" && ack[row] === "false" && time >= 14.9 && time <= end,
    ).length;
    assert.match(texts[0], new RegExp(`${lost} packets were corrupted at middle → far`));
    // The cost is at least what the silence took at the mean rate of the 5 s before it.
    const mean =
      rows.filter((row) => times[row] > begin - 5 && times[row] <= begin).reduce((sum, row) => sum + goodput[row], 0) /
      50;
    const cost = /^([\d.]+) MB less in ([\d.]+) s/.exec(texts[2]);
    const whole = rows
      .filter((row) => times[row] > begin && times[row] <= begin + Number(cost[2]))
      .reduce((sum, row) => sum + ((mean - goodput[row]) * 0.1) / 8, 0);
    near(Number(cost[1]) * 1e6, whole, 0.03 * whole + 1e5, "bytes not delivered");
    assert.match(await page.locator(".timer").textContent(), /timeout and not a fast retransmit/);
    // A click shows it everywhere.
    await page.locator(".finding").first().click();
    await page.getByRole("button", { name: "fast", exact: true }).waitFor();
    near(Number.parseFloat(await page.locator(".timebar .now").textContent()), begin, 0.011, "time");
    await settle(page);
    const [from, to] = (await charts(page))[0].x;
    assert.ok(from < begin && to > end && to - from < 39, `${from} to ${to}`);
    await close();
  });

  test("finds a flow that gets far less than its share without a stall", async () => {
    const { page, errors, close } = await visit("#/watch?run=share");
    await page.locator(".finding.share").first().click();
    await page.locator(".finding.share[aria-current=true]").waitFor();
    assert.match(
      await page.locator(".finding.share").first().innerText(),
      /modest[\s\S]*less than half of a fair share/,
    );
    const [cause, effect, cost] = await page.locator(".cause-chain dd").allTextContents();
    assert.match(cause, /2 other flows from left to right sent at the same time: greedy-\d [\d.]+ Mbit\/s, greedy-\d/);
    // From the table: what the three delivered in those seconds, and the third of it that one flow did not get.
    const {
      time_s: times,
      flow,
      goodput_bps: goodput,
      in_flight: flight,
    } = await table("share", "flow_series", ["time_s", "flow", "goodput_bps", "in_flight"]);
    const begin = Number((await page.locator(".finding.share").first().getAttribute("data-finding")).split("@")[1]);
    const [, bytes, length] = /^([\d.]+) MB less in ([\d.]+) s than an equal share/.exec(cost).map(Number);
    const sum = (own) =>
      times.reduce(
        (all, time, row) =>
          all +
          (time > begin + 1e-9 && time <= begin + length + 1e-9 && (!own || flow[row] === own) ? goodput[row] / 80 : 0),
        0,
      );
    near(bytes * 1e6, sum() / 3 - sum("modest"), 0.03 * bytes * 1e6, "bytes less than an equal share");
    const rates = /got ([\d.]+) ([kM])bit\/s where/.exec(effect);
    near(Number(rates[1]) * (rates[2] === "k" ? 1e3 : 1e6), (sum("modest") * 8) / length, 2e4, "its rate");
    assert.ok(sum("modest") < sum() / 6);
    // It did not stall: it always had data in flight in those seconds.
    assert.ok(
      flight.every(
        (packets, row) => flow[row] !== "modest" || times[row] < begin || times[row] > begin + length || packets > 0,
      ),
    );
    // Equals have no such finding.
    await page.evaluate(() => (location.hash = `#/watch?run=${encodeURIComponent("outage")}`));
    await page.waitForFunction(
      () =>
        document.querySelector(".run-name").textContent === "outage" &&
        !/Looking/.test(document.querySelector(".findings > h3").textContent),
    );
    assert.equal(await page.locator(".finding.share").count(), 0);
    assert.deepEqual(errors, []);
    await close();
  });

  test("tells of connections that a stack ended, in its words, with what never came", async () => {
    const { page, errors, close } = await visit("#/watch?run=ended");
    const { flow, bytes_delivered: delivered } = await table("ended", "flows", ["flow", "bytes_delivered"]);
    const { time_s: times, flow: of, event } = await table("ended", "flow_events");
    const when = (name, what) => times[times.findIndex((_, row) => of[row] === name && event[row] === what)];
    const told = async (name) => {
      const line = page.locator(".finding", { hasText: name });
      assert.equal(await line.count(), 1, `${name} has one finding and no stall beside it`);
      await line.click();
      await page.locator(".finding[aria-current=true]", { hasText: name }).waitFor();
      return [await line.innerText(), ...(await page.locator(".cause-chain dd").allTextContents())];
    };
    const [closed, heard] = [when("download", "closed by receiver"), when("download", "connection lost")];
    await page.locator(".finding", { hasText: "download" }).waitFor();
    const [line, cause, effect, cost] = await told("download");
    assert.match(line, new RegExp(`^download · ${closed.toFixed(2)} s[\\s\\S]*the connection ended · too many gaps`));
    assert.ok(cause.startsWith(`The receiver's stack ended the connection at ${closed.toFixed(2)} s: TransportError`));
    assert.match(cause, /reason: "too many gaps in stream buffer"/, "the stack's own words");
    assert.match(cause, /at most 1024 separate pieces[^.]*\. Slow start overshot the queue[^.]*\. A smaller stream/);
    assert.ok(effect.includes(`the sender heard of the end at ${heard.toFixed(2)} s`), effect);
    // From the tables: the last step in which the application received something, and what the file lacks.
    const series = await table("ended", "flow_series", ["time_s", "flow", "goodput_bps"]);
    const steps = (name) => series.time_s.map((_, row) => row).filter((row) => series.flow[row] === name);
    const last = steps("download").findLast((row) => series.goodput_bps[row] > 0);
    assert.ok(effect.startsWith(`Nothing reached the application after ${series.time_s[last].toFixed(2)} s`), effect);
    const missing = 12e6 - delivered[flow.indexOf("download")];
    near(Number(/^([\d.]+) MB of a file of 12 MB/.exec(cost)[1]) * 1e6, missing, 5e4, "rest of the file");
    near(Number.parseFloat(await page.locator(".timebar .now").textContent()), closed, 0.011, "time");
    await page.locator(".story summary").click();
    const events = (await page.locator(".chain li.ended").allTextContents()).join("; ");
    assert.match(events, /receiver's stack closed the connection; .*ended at the sender/);
    // Without a file, the cost is that of the rate before, from where the flow fell behind to its end.
    const [, timeout, , lost] = await told("music");
    const end = when("music", "connection lost");
    assert.ok(timeout.startsWith(`The sender's stack ended the connection at ${end.toFixed(2)} s: TimedOut.`), timeout);
    assert.match(timeout, /the idle timeout, 5 s/);
    const open = await page.locator(".finding[aria-current=true]").getAttribute("data-finding");
    const begin = Number(open.split("@")[1]);
    const bytes = (from, to) =>
      steps("music")
        .filter((row) => series.time_s[row] > from + 1e-9 && series.time_s[row] <= to + 1e-9)
        .reduce((sum, row) => sum + series.goodput_bps[row] / 80, 0);
    const right = (bytes(begin - 5, begin) / 5) * (20 - begin) - bytes(begin, 20);
    near(Number(/^([\d.]+) MB less in/.exec(lost)[1]) * 1e6, right, 0.03 * right, "bytes at the rate before");
    // A flow of which nothing ever arrived keeps that finding; its cause is the end of the connection.
    const [silent, none] = await told("silent");
    assert.match(silent, /^silent · 0\.00 s[\s\S]*nothing ever arrived · idle timeout/);
    assert.match(none, /^The sender's stack ended the connection at 5\.\d\d s: TimedOut\..* 5 packets were corrupted/);
    assert.deepEqual(errors, []);
    await close();
  });

  test("shows a run's warnings beside its numbers, the first two at once, also in an export", async () => {
    const { folder } = await stage();
    const { warnings } = JSON.parse(readFileSync(join(folder, "ended", "manifest.json"), "utf8"));
    assert.ok(warnings.length > 2);
    const made = exportRuns(join(folder, "ended"));
    try {
      for (const where of [{}, { url: made.url }]) {
        const { page, errors, close } = await visit(where.url ? "" : "#/watch?run=ended", where);
        const lines = page.locator(".warnings li");
        await lines.first().waitFor();
        assert.deepEqual(await lines.allTextContents(), warnings);
        const seen = () => lines.evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
        assert.equal(await seen(), 2);
        await page.locator(".warnings summary").focus();
        await page.keyboard.press("Enter");
        assert.equal(await seen(), warnings.length);
        await page.keyboard.press("Tab");
        assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Further warnings");
        assert.deepEqual(errors, []);
        if (!where.url) {
          // A run without warnings has no place for them.
          await page.evaluate(() => (location.hash = "#/watch?run=outage"));
          await page.waitForFunction(() => document.querySelector(".run-name").textContent === "outage");
          assert.equal(await page.locator(".warnings").isVisible(), false);
        }
        await close();
      }
    } finally {
      remove(made.target);
    }
  });

  test("tells the handover before a stall, with both ways", async () => {
    const { page, close } = await visit("#/watch?run=handover");
    const { time_s: times, terminal, from, to } = await table("handover", "handovers");
    const real = times.map((_, row) => row).filter((row) => from[row] !== "");
    assert.ok(real.length > 0);
    await page.locator(".finding").first().waitFor();
    const cause = await page.locator(".cause-chain dd").first().textContent();
    const told = real.filter((row) =>
      cause.toLowerCase().includes(`${terminal[row]} was handed over from ${from[row]} to ${to[row]}`),
    );
    assert.ok(told.length > 0, cause);
    assert.match(await page.locator(".finding").first().innerText(), /stalled \d\.\d+ s · handover/);
    await close();
  });

  test("tells a change of gateway and of network", async () => {
    const { page, errors, close } = await visit("#/watch?run=gateways");
    const { time_s: times, terminal, from, to, kind } = await table("gateways", "handovers");
    const row = kind.indexOf("gateway");
    assert.deepEqual([terminal[row], from[row], to[row]], ["user", "madrid", "oslo"], "the run changes its gateway");
    await page.locator(".finding").first().waitFor();
    assert.match(await page.locator(".finding").first().innerText(), /^download[\s\S]*handover/);
    const said = await page.locator(".cause-chain dd").first().textContent();
    assert.match(
      said,
      new RegExp(`user was handed over from gateway madrid to oslo \\([^)]*\\) at ${times[row].toFixed(2)} s`),
    );
    // From the table of paths: how much longer the path over the other gateway is.
    const { time_s: changes, delay_s: delay } = await table("gateways", "paths", ["time_s", "delay_s"]);
    const change = changes.indexOf(times[row]);
    assert.ok(said.includes(`${((delay[change] - delay[change - 1]) * 1e3).toFixed(1)} ms longer than before`), said);
    await page.locator(".story summary").click();
    const events = await page.locator(".chain li").allTextContents();
    assert.ok(
      events.some((text) => /user was handed over to the terrestrial network/.test(text)),
      events.join("; "),
    );
    // Over the sky stands what happened last; a network on the ground has no elevation.
    await page.evaluate(() => (location.hash = "#/watch?run=gateways&t=61&finding="));
    await page.locator(".ticker p", { hasText: "none" }).waitFor();
    const ticker = await page.locator(".ticker p").allTextContents();
    assert.match(ticker[0], /user leo-\d+-\d+ → none$/);
    assert.match(ticker[1], /^40\.00 s user madrid → oslo at \d+°$/);
    assert.deepEqual(errors, []);
    await close();
  });

  test("shows every packet of a flow: sent, sent again, lost, acknowledged", async () => {
    const { page, errors, close } = await visit("#/watch?run=packets&charts=sequence");
    await page.waitForFunction(() => window.skyhopCharts()[0]?.points.length > 0);
    const {
      time_s: times,
      event,
      flow,
      seq,
      link,
      is_ack: ofAck,
      retransmission,
      tcp_seq: bytes,
      tcp_ack: next,
      payload_bytes: payload,
      tcp_sack: sack,
    } = await table("packets", "packets");
    const rows = (kind) =>
      times
        .map((_, row) => row)
        .filter((row) => flow[row] === "a" && event[row] === kind && (kind === "ack" || link[row] === "left->right"));
    const sent = rows("enq");
    const first = new Set(sent.map((row) => seq[row])).size;
    const acks = rows("ack").filter((row) => seq[row] !== "");
    const points = Object.fromEntries(await page.evaluate(() => window.skyhopCharts()[0].points));
    assert.equal(points["sent"], first);
    assert.equal(points["sent again"], sent.length - first);
    assert.equal(points["lost"], rows("drop").length + rows("loss").length);
    assert.equal(
      points["duplicate ACK"],
      acks.filter((row, i) => i > 0 && seq[row] <= Math.max(...acks.slice(0, i).map((other) => seq[other]))).length,
    );
    assert.ok(points["sent again"] > 10 && points["lost"] > 10, "the run has an episode to show");
    // Each SACK block stands at its ACK, from the segment that begins with its first byte to the one that ends with its
    // last.
    const begins = new Map(sent.map((row) => [bytes[row], seq[row]]));
    const ends = new Map(sent.map((row) => [bytes[row] + payload[row], seq[row]]));
    const right = acks.flatMap((row) =>
      String(sack[row])
        .split(" ")
        .filter(Boolean)
        .map((block) => block.split("-").map(Number))
        .map(([from, to]) => [to <= next[row] ? "D-SACK" : "SACK", times[row], begins.get(from), ends.get(to)]),
    );
    const order = (all) => all.map((bar) => JSON.stringify(bar)).sort();
    assert.ok(right.length > 50, `${right.length} blocks`);
    assert.deepEqual(order(await page.evaluate(() => window.skyhopCharts()[0].bars)), order(right));
    // What is acknowledged at the end of the run; the charts share the time axis with those they replace.
    const { data, labels, x } = await page.evaluate(() => window.skyhopCharts()[0]);
    assert.equal(
      data[1 + labels.indexOf("acknowledged")].filter((value) => value !== null && value !== undefined).at(-1),
      Math.max(...acks.map((row) => seq[row])),
    );
    const before = x[1] - x[0];
    await page.locator(".plot").nth(1).focus();
    await page.keyboard.press("+");
    await page.waitForFunction(
      (before) =>
        window
          .skyhopCharts()
          .slice(0, 3)
          .every(({ x }) => x[1] - x[0] < 0.7 * before),
      before,
    );
    // Their places come back with the address, and the button leads back to the other charts.
    assert.match(await page.evaluate(() => location.hash), /charts=sequence/);
    await page.getByRole("button", { name: "Packets", exact: true }).click();
    await page.waitForFunction(
      () => window.skyhopCharts()[4] && !document.querySelector(".charts").classList.contains("sequence"),
    );
    // A packet of QUIC has a number of its own, and no table says what its ACKs acknowledge.
    await page.evaluate(() => (location.hash = "#/watch?run=packets&charts=sequence&flow=quic&finding="));
    await page.waitForFunction(
      () =>
        /QUIC's ACKs/.test(document.querySelector(".chart h3").textContent) &&
        window.skyhopCharts()[0]?.points.length > 0,
    );
    const quic = await page.evaluate(() => window.skyhopCharts()[0]);
    assert.deepEqual(quic.labels, []);
    const own = times
      .map((_, row) => row)
      .filter((row) => flow[row] === "quic" && event[row] === "enq" && ofAck[row] === "false");
    const repeated = own.filter((row) => retransmission[row] === "true").length;
    assert.deepEqual(quic.points.slice(0, 2), [
      ["sent", own.length - repeated],
      ["sent again", repeated],
    ]);
    assert.deepEqual(errors, []);
    await close();
  });

  test("makes a run again for the packets around a finding, and for the whole flow", async () => {
    const { page, errors, close } = await visit("#/watch?run=outage");
    await page.locator(".story").waitFor();
    await page.getByRole("button", { name: "Its packets" }).click();
    const recorded = (more) =>
      page.waitForFunction(
        (more) =>
          window.skyhopCharts()[0]?.points.length > 0 &&
          /recorded from/.test(document.querySelector(".chart h3").textContent) === !more,
        more,
      );
    await recorded(false);
    const title = await page.locator(".chart h3").first().textContent();
    const [, flow] = /Sequence of ([\w-]+?)segments/.exec(title);
    const bounds = /recorded from ([\d.]+) s to ([\d.]+) s/.exec(title).slice(1).map(Number);
    // The same scenario with this link in `records.packets` says what is right; there, a packet was sent again if its
    // number came before.
    const {
      time_s: times,
      event,
      seq,
      flow: of,
    } = await table("outage-packets", "packets", ["time_s", "event", "flow", "seq"]);
    const drops = await table("outage", "drops");
    const right = (from, to) => {
      const [counts, seen] = [{ sent: 0, "sent again": 0 }, new Set()];
      times.forEach((time, row) => {
        if (of[row] !== flow || event[row] !== "enq") return;
        if (time >= from && time <= to) counts[seen.has(seq[row]) ? "sent again" : "sent"]++;
        seen.add(seq[row]);
      });
      const lost = drops.time_s.filter(
        (time, row) => drops.flow[row] === flow && drops.is_ack[row] === "false" && time >= from && time <= to,
      ).length;
      return { ...counts, lost };
    };
    const shown = async () => {
      const {
        sent,
        "sent again": repeated,
        lost,
      } = Object.fromEntries(await page.evaluate(() => window.skyhopCharts()[0].points));
      return { sent, "sent again": repeated, lost };
    };
    // The title has hundredths of a second.
    const part = await shown();
    const [least, most] = [right(bounds[0] + 0.01, bounds[1] - 0.01), right(bounds[0] - 0.01, bounds[1] + 0.01)];
    for (const name of Object.keys(part))
      assert.ok(
        part[name] >= least[name] && part[name] <= most[name],
        `${name}: ${part[name]} is not within ${least[name]} and ${most[name]}`,
      );
    assert.ok(part["sent again"] > 0 && part.lost > 0, "a finding with losses");
    await page.getByRole("button", { name: "Whole flow" }).click();
    await recorded(true);
    assert.deepEqual(await shown(), right(0, Infinity));
    assert.match(await page.evaluate(() => location.hash), /packets=all/);
    assert.deepEqual(errors, []);
    await close();
  });

  test("draws the rate at which senders pace, where one does", async () => {
    const { page, errors, close } = await visit("#/watch?run=pacing&finding=");
    await drawn(page);
    await settle(page);
    const titles = () =>
      page.locator(".chart:not([hidden]) h3").evaluateAll((all) => all.map((one) => one.firstChild.textContent));
    const at = (await titles()).indexOf("Pacing rate");
    assert.equal(at, 1, "beside the congestion window");
    const { labels, data } = await page.evaluate((i) => window.skyhopCharts()[i], at);
    const { time_s: times, flow, pacing_bps: rate } = await table("pacing", "flow_series");
    assert.deepEqual(labels, ["bbr", "hybla"], "a sender that paces nothing has no line");
    for (const name of labels) {
      const right = new Map();
      rate.forEach((bps, row) => flow[row] === name && bps !== "" && right.set(times[row], bps / 1e6));
      const shown = data[1 + labels.indexOf(name)]
        .map((value, i) => [data[0][i], value])
        .filter(([, value]) => value !== null && value !== undefined);
      assert.ok(right.size > 70 && shown.length === right.size, `${name}: ${shown.length} of ${right.size} steps`);
      for (const [time, value] of shown) near(value, right.get(time), 1e-9, `${name} at ${time} s`);
    }
    // Another run without such a sender has no such chart.
    await page.evaluate(() => (location.hash = "#/watch?run=outage&finding="));
    await page.waitForFunction(() => document.querySelector(".run-name").textContent === "outage");
    await page.waitForFunction(
      () => ![...document.querySelectorAll(".chart:not([hidden]) h3")].some((one) => /^Pacing/.test(one.textContent)),
    );
    assert.ok(!(await titles()).includes("Pacing rate") && (await titles()).length === 6);
    assert.deepEqual(errors, []);
    await close();
  });

  test("has a place for the sender's states, calls, messages, workloads, sojourn times and marks", async () => {
    const { page, errors, close } = await visit("#/watch?run=apps&charts=sequence&flow=bulk&finding=");
    await page.waitForFunction(
      () =>
        window.skyhopCharts()[0]?.points.length > 0 && window.skyhopCharts()[1]?.lanes.some(([name]) => name === "CWR"),
    );
    const { flow, phase } = await table("apps", "flow_series", ["flow", "phase"]);
    const right = {};
    phase.forEach((name, row) => flow[row] === "bulk" && (right[name] = (right[name] ?? 0) + 1));
    const lanes = Object.fromEntries(await page.evaluate(() => window.skyhopCharts()[1].lanes));
    assert.ok(right.cwr > 0 && Object.keys(right).length >= 3, "the kernel reduced its window after marks");
    for (const [name, steps] of Object.entries(right)) assert.equal(lanes[name], steps, name);
    // The TCP of Linux counts bytes. Its packets and the flags and marks in them are those of the table.
    const packets = await table("apps", "packets");
    const own = packets.flow.map((_, row) => row).filter((row) => packets.flow[row] === "bulk");
    const has = (row, flag) =>
      String(packets.tcp_flags[row]).split(" ").includes(flag) && !/SYN/.test(packets.tcp_flags[row]);
    const sent = own.filter(
      (row) =>
        packets.event[row] === "enq" &&
        packets.is_ack[row] === "false" &&
        (packets.payload_bytes[row] > 0 || /SYN|FIN/.test(packets.tcp_flags[row])),
    );
    const acks = own.filter((row) => packets.event[row] === "ack");
    assert.equal(
      lanes.marked,
      own.filter((row) => packets.event[row] === "mark" && packets.is_ack[row] === "false").length,
    );
    assert.equal(lanes.ECE, acks.filter((row) => has(row, "ECE")).length);
    assert.equal(lanes.CWR, sent.filter((row) => has(row, "CWR")).length);
    assert.ok(lanes.ECE > 0 && lanes.CWR > 0);
    const { points, labels, data } = await page.evaluate(() => window.skyhopCharts()[0]);
    assert.match(await page.locator(".chart h3").first().textContent(), /Sequence of bulkkB at left → right/);
    assert.equal(Object.fromEntries(points).sent, sent.filter((row) => packets.retransmission[row] === "false").length);
    const last = (label) =>
      data[1 + labels.indexOf(label)].filter((value) => value !== null && value !== undefined).at(-1);
    near(last("acknowledged"), Math.max(...acks.map((row) => packets.tcp_ack[row])) / 1000, 1e-6, "kB acknowledged");
    near(
      last("receive window"),
      Math.max(...acks.map((row) => packets.tcp_ack[row] + packets.tcp_window_bytes[row])) / 1000,
      1e-6,
      "end of the receive window, kB",
    );
    await page.getByRole("button", { name: "Tables …" }).click();
    const dialog = page.getByRole("dialog", { name: "Tables of the run" });
    const offered = await dialog
      .getByLabel("Table", { exact: true })
      .locator("option")
      .evaluateAll((all) => all.map((one) => one.value));
    for (const name of ["workloads", "workload_transfers", "transfers", "calls", "messages", "links"])
      assert.ok(offered.includes(name), name);
    const shown = async (name) => {
      await dialog.getByLabel("Table", { exact: true }).selectOption(name);
      await dialog.locator(`table[aria-label="${name}"]`).waitFor();
      const rows = await dialog
        .locator("tr")
        .evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      return rows.slice(1).map((cells) => Object.fromEntries(rows[0].map((title, i) => [title, cells[i]])));
    };
    for (const [name, columns] of [
      ["calls", ["mos", "lost_share"]],
      ["messages", ["late", "missed"]],
      ["links", ["marked", "sojourn_p95_s"]],
      ["workloads", ["finished"]],
    ]) {
      const [rows, own] = [await shown(name), await table("apps", name)];
      assert.equal(rows.length, own[columns[0]].length);
      for (const column of columns)
        rows.forEach(
          (row, i) =>
            own[column][i] !== "" &&
            near(
              Number(row[column].replace(/[^\d.]/g, "")),
              own[column][i],
              1e-4 * Math.abs(own[column][i]),
              `${name}, ${column}`,
            ),
        );
    }
    // The order of a column, both ways round.
    const { completion_s: completions } = await table("apps", "workload_transfers", ["completion_s"]);
    await shown("workload_transfers");
    await dialog.getByRole("button", { name: "completion_s" }).click();
    await dialog.getByRole("button", { name: /^completion_s/ }).click();
    near(
      Number(await dialog.locator("tbody tr").first().locator("td").nth(7).textContent()),
      Math.min(...completions.filter((value) => value !== "")),
      1e-5,
      "the shortest",
    );
    await page.keyboard.press("Escape");
    // And their distribution in Compare.
    await page.evaluate(() => (location.hash = "#/compare?compare=apps&measure=transfers+0"));
    await page.locator(".figure path.curve").first().waitFor();
    assert.match(await page.locator(".figure").textContent(), /Completion time of the workloads' transfers/);
    assert.deepEqual(errors, []);
    await close();
  });
});
