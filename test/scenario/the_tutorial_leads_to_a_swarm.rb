# frozen_string_literal: true

# Types the commands of docs/install.md and docs/getting_started.md as they are. The gems are built
# and installed into an empty GEM_HOME; skep and skep-map need no gem of others there. The programs
# are written into an empty directory and run there, by hand and on an embedded broker. Their logs
# match the page. (README's programs are run by the scenarios of Rails and of the examples.)
require_relative "scenario"
require_relative "support/new_user"
require_relative "support/page"

INSTALL = Page.new("#{NewUser::ROOT}/docs/install.md")
TUTORIAL = Page.new("#{NewUser::ROOT}/docs/getting_started.md")

def ready(typist) = typist.type("skep status").scan(/^ +\d+ +(\d+) +\d+ +ready /).flatten

def kill(pid)
  pidfd = Skep.pidfd(Integer(pid))
  pidfd.signal(:KILL)
ensure
  pidfd&.close
end

# Checks that each event that the page shows is logged, with its fields.
def must_log(run, shown)
  events = shown.scan(/^… +[A-Z]+ +(\w+) /).flatten.tally
  events.each { |name, times| run.await(/ #{name} /, times:) }
  shown.scan(/ (\w+)=/).flatten.uniq.each do |field|
    must("log #{field}, not:\n#{run.output}") { run.output.include?(" #{field}=") }
  end
end

# Builds and installs the gems from the checkout. What skep-kafka depends on is installed elsewhere,
# so that no network is needed.
def install(user)
  builder = user.builder
  *commands, kafka = INSTALL.commands
  commands.each { |command| builder.type(command) }
  must("need no other gem: #{user.installed}") { user.installed.grep_v(/\Askep-/).empty? }
  must("print its version") { builder.type("skep --version").match?(/\Askep \d.* native\)/) }
  must("print its help") { builder.type("skep --help").include?("skep help COMMAND") }
  user.builder(kafka: true).type("#{kafka} --local")
  must("have three gems: #{user.installed}") { user.installed.size == 3 }
end

# Types the page's commands on its first swarm.
def first_swarm(user, check, run, *steers)
  typist = user.typist
  must("pass skep check") { typist.type(check).include?("good to run") }
  hello = typist.start(run)
  hello.await(/^node [01] works, process \d+$/, times: 2)
  hello.await(/ node_ready /, times: 2)
  must("have two nodes") { (@first = ready(typist)).size == 2 }
  kill(@first.first)
  must_log(hello, TUTORIAL.output(/ node_died /))
  hello.await(/ node_ready /, times: 3)
  shown = steers.to_h { |command| [command[/\Askep (\w+)/, 1], typist.type(command)] }
  must("have these commands: #{shown.keys}") { shown.keys == %w[status top reload scale stop] }
  must("show how a node ended") { shown["status"].include?("SIGKILL") }
  must("stop with 0") { hello.ended.exitstatus == 0 }
  must("have scaled to three, not:\n#{hello.output}") do
    hello.output.match?(/ swarm_scaled .* to=3$/)
  end
end

# The block of the page has the line to enter, then the answer.
def consume(user, command)
  run = user.typist(kafka: true).start(command)
  run.await(/ node_assigned /, times: 2) # one for each node, or two for the first
  message, answer = TUTORIAL.output(/^node 0 bills /).lines(chomp: true).last(2)
  run.enter(message)
  run.await(/^#{answer.sub("node 0", "node [01]")}$/)
  run
end

Scenario.play do
  missing "for its example of Kafka: karafka-rdkafka" if NewUser.kafka_paths.empty?

  user = NewUser.new(directory)
  at_end { user.close }
  install(user)
  TUTORIAL.programs.each { |name, source| user.write(name, source) }
  *plain, broker, test = TUTORIAL.commands
  first_swarm(user, *plain)

  orders = consume(user, broker)
  orders.enter(TUTORIAL.output(/"price"/).chomp)
  must_log(orders, TUTORIAL.output(/dead_lettered/))
  must("end with 0 at Ctrl-C, not:\n#{orders.output}") { orders.interrupt.exitstatus == 0 }
  must("pass its test") { user.typist(kafka: true).type(test).include?(" 0 failures, 0 errors") }
end
