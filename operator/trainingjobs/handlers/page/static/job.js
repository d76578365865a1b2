// One job: what it says, what is wrong, where its ranks stand, how it trains, what came before.
import { attempts } from "./attempts.js";
import { Curves } from "./curves.js";
import { command, shown } from "./commands.js";
import { h, put, putIfNew, say, words } from "./dom.js";
import { age, between, clock, duration, number, part, phase, ranks as ranksOf } from "./format.js";
import { Ranks } from "./ranks.js";
import { Events, Log } from "./records.js";
import { Stream } from "./stream.js";

export class JobView {
  #stream; #timer; #job = null;

  constructor(root, token, namespace, name, told) {
    this.namespace = namespace; this.name = name;
    this.title = `${name} \u00B7 TrainingJobs`;
    this.note = h("p", { role: "alert", class: "note" });
    this.state = h("p", { class: "state", role: "status" });
    this.facts = h("dl", { class: "facts" });
    this.wrong = h("section", { "aria-labelledby": "wrong" });
    this.before = h("section", { "aria-labelledby": "before" });
    this.conditions = h("section", { "aria-labelledby": "conditions" });
    this.curves = new Curves();
    this.ranks = new Ranks((rank, instance) => this.#logs(rank, instance));
    const path = `api/v1/namespaces/${encodeURIComponent(namespace)}/trainingjobs/${encodeURIComponent(name)}`;
    this.events = new Events(path, token, "Events of the job");
    this.log = new Log(path, token);
    put(root, h("nav", { "aria-label": "Back" }, h("a", { href: "#/" }, "\u25C2 all jobs")),
      h("h1", {}, h("span", { class: "faint" }, `${namespace}/`), name), this.note, this.state, this.facts,
      this.#command("describe the job", "kubectl", "tj", "describe", name, "-n", namespace),
      this.wrong,
      h("section", { "aria-labelledby": "curves" }, h("h2", { id: "curves" }, "Training"), this.curves.node,
        this.#command("watch the training", "kubectl", "tj", "top", name, "-n", namespace)),
      h("section", { "aria-labelledby": "ranks" }, h("h2", { id: "ranks" }, "Ranks"), this.ranks.node,
        this.#command("all ranks' stacks", "kubectl", "tj", "stacks", name, "-n", namespace)),
      h("section", { "aria-labelledby": "log" }, h("h2", { id: "log" }, "Log"), this.log.node,
        this.#command("all ranks' logs", "kubectl", "tj", "logs", "-f", name, "-n", namespace)),
      this.before, this.conditions,
      h("section", { "aria-labelledby": "events" }, h("h2", { id: "events" }, "Events"), this.events.node,
        this.#command("the job's events", "kubectl", "events", "--for", `trainingjob/${name}`, "-n", namespace),
        this.#command("the job's manifest", "kubectl", "get", "trainingjob", name, "-n", namespace, "-o", "yaml")));
    this.#stream = new Stream(`${path}/stream`, token, {
      curves: (it) => this.curves.begin(it), job: (it) => this.#take(it), ranks: (it) => this.ranks.take(it),
    }, told);
    this.#timer = setInterval(() => this.#draw(), 5000);
  }

  close() {
    this.#stream.close();
    this.ranks.close();
    this.events.close();
    this.log.close();
    clearInterval(this.#timer);
  }

  told(state, said) {
    say(this.note, state === "refused" ? said : "");
  }

  #take(job) {
    const other = this.#job && this.#job.uid !== job.uid;
    if (this.#job && this.#job.chapter !== job.chapter) {
      this.events.soon();
      this.log.soon();
    }
    this.#job = job;
    if (other) this.ranks.take({ whole: true, rows: [], gone: [] });
    this.curves.note(job.status.training, Date.now() / 1000);
    this.ranks.accuse(found(job), job.stalled);
    this.#draw();
  }

  #draw() {
    const job = this.#job;
    if (!job) return;
    const { sign, kind, word } = phase(job);
    putIfNew(this.state, [word, job.status.message], () => [
      h("span", { class: `phase ${kind}` }, h("span", { "aria-hidden": "true" }, `${sign} `), word), " ", job.status.message ?? ""]);
    const facts = factsOf(job);
    putIfNew(this.facts, facts, () => facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    putIfNew(this.wrong, [job.found, job.status.findings, job.status.failure], () => this.#wrongs(job));
    putIfNew(this.before, [job.status.attempts, job.status.attempt, job.phase, Math.floor(Date.now() / 10_000)], () =>
      [h("h2", { id: "before" }, "Attempts"), ...attempts(job),
        this.#command("what the attempts came to", "kubectl", "tj", "describe", this.name, "-n", this.namespace)]);
    putIfNew(this.conditions, job.status.conditions, () =>
      [h("h2", { id: "conditions" }, "Conditions"), conditions(job.status.conditions ?? []),
        this.#command("the conditions", "kubectl", "describe", "trainingjob", this.name, "-n", this.namespace)]);
  }

  #wrongs(job) {
    const all = found(job), failure = job.status.failure;
    return [h("h2", { id: "wrong" }, "What is wrong"),
      all.length || failure ? null : h("p", { class: "faint" }, "Nothing was found."),
      all.map((it) => h("article", { class: "finding" }, h("h3", {}, h("span", { "aria-hidden": "true" }, "! "), it.type,
        it.ranks.length || typeof it.ranks === "string" ? h("span", { class: "faint" }, ` rank ${typeof it.ranks === "string" ? it.ranks : ranksOf(it.ranks)}`) : null),
      h("p", {}, it.message), it.line ? h("p", {}, h("code", {}, it.line)) : null)),
      failure ? h("article", { class: "finding" }, h("h3", {}, h("span", { "aria-hidden": "true" }, "\u2716 "), `Root cause of the last failure: ${failure.reason}`),
        h("p", {}, `rank ${failure.rank} (${failure.pod}${failure.node ? ` on ${failure.node}` : ""})`,
          failure.exitCode === undefined || failure.exitCode === null ? "" : ` ended with exit code ${failure.exitCode}`,
          failure.time ? ` at ${clock(failure.time)}` : "", failure.victims ? `; ranks ${failure.victims} fell over after it` : ""),
        failure.message ? words(failure.message) : null) : null,
      this.#command("why the job is as it is", "kubectl", "tj", "why", this.name, "-n", this.namespace)];
  }

  /** Of its pod: what `logs` calls a rank is an instance, which may run several processes. */
  #logs(rank, instance) {
    const show = h("button", { type: "button" }, `show the log of rank ${rank}`);
    show.addEventListener("click", () => {
      this.log.show(instance);
      this.log.node.scrollIntoView({ block: "start" });
    });
    return [h("p", {}, show),
      this.#command(`the logs of rank ${rank}`, "kubectl", "tj", "logs", "-f", this.name, "-n", this.namespace, "--rank", String(instance))];
  }

  #command(what, ...given) {
    return shown(command(...given), what);
  }
}

/** What is wrong: as it is seen now, or as the resource has it. */
function found(job) {
  return job.found?.length ? job.found : job.status.findings ?? [];
}

function factsOf(job) {
  const training = job.status.training ?? {}, over = job.completionTime || job.stalled;
  const whole = training.totalSteps ? ` of ${number(training.totalSteps)}` : "";
  const took = between(job.startTime, job.completionTime);
  const facts = [
    ["Ready", job.ready], ["Framework", job.framework],
    ["Progress", job.progress], ["Step", training.step === undefined ? "" : `${number(training.step)}${whole}`],
    ["Steps/s", over ? "" : training.stepsPerSecond], ["Left", over || part(job.progress) === null || !training.etaSeconds ? "" : duration(training.etaSeconds)],
    ["Epoch", training.epoch],
    ...Object.entries(training.metrics ?? {}).slice(0, 16),
    ["Attempt", job.attempt], ["Restarts", job.restarts === undefined ? "" : `${job.restarts ?? 0} of ${job.spec.maxRestarts ?? 3}`],
    ["Disruptions", job.disruptions], ["Goodput", job.status.goodput?.ratio],
    ["Age", age(job.created)], [job.completionTime ? "Took" : "Since its start", took === null ? "" : duration(took)],
  ];
  return facts.filter(([, value]) => value !== undefined && value !== null && value !== "").map(([name, value]) => [name, String(value)]);
}

function conditions(all) {
  const row = (it) => h("tr", {}, h("th", { scope: "row" }, it.type), h("td", {}, it.status), h("td", {}, it.reason),
    h("td", { class: "number" }, age(it.lastTransitionTime)), h("td", { class: "says" }, it.message ?? ""));
  const heads = ["Condition", "Status", "Reason", "For", "What it says"].map((it) => h("th", { scope: "col" }, it));
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Conditions of the job" },
    h("table", {}, h("caption", {}, "Conditions, as the resource has them"), h("thead", {}, h("tr", {}, heads)), h("tbody", {}, all.map(row))));
}
