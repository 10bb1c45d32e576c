# frozen_string_literal: true

require_relative "../scenario"
require "socket"

# The base of scenarios with other gems (`bin/setup scenario` installs them): a real Puma on a UNIX
# socket. Its application passes each request's path to a Background that was created at preload.
#
#   GemScenario.play do
#     puma = run_puma(workers: 2)
#     ask(items) { |done| … }                # => the items that were answered
#     stop(puma)
#     accepted                               # => { "1" => pid }
#     handled                                # => [["1", pid, thread]]
#   end
#
# The application notes accepted and handled items by single writes, which neither a signal nor
# another process can interrupt.
class GemScenario < Scenario
  SECONDS = 60.0
  CLIENTS = 8
  THREADS = 4 # of a worker: each may record an item that it has just pushed a little later
  Puma = Struct.new(:pid, :log, :lines, :reading, :pidfd, keyword_init: true)

  def run_puma(workers:)
    File.write("#{directory}/config.ru", application)
    File.write("#{directory}/puma.rb", <<~RUBY)
      workers #{workers}
      threads 1, #{THREADS}
      #{"preload_app!" if workers.positive?}
      bind "unix://#{socket}"
      rackup "#{directory}/config.ru"
    RUBY
    booted = workers.zero? ? /Use Ctrl-C/ : /booted/
    start_puma.tap { |puma| await_log(puma, booted, [workers, 1].max) }
  end

  def application
    <<~RUBY
      require "skep/threads"
      ACCEPTED, HANDLED = %w[accepted handled].map { |name| File.open("#{directory}/\#{name}", "a") }
      MAILER = Skep::Threads::Background.new("mailer") do |inbox|
        inbox.each do |item|
          IO.select(nil, nil, nil, 0.001)
          HANDLED.syswrite("\#{item} \#{Process.pid} \#{Thread.current.name}\\n")
        end
      end
      3.times { |number| MAILER.push("boot\#{number}") }
      run(lambda do |env|
        item = env["PATH_INFO"].delete("/")
        MAILER.push(item)
        ACCEPTED.syswrite("\#{item} \#{Process.pid}\\n")
        [200, {}, ["ok"]]
      end)
    RUBY
  end

  # Requests each item, with several clients at a time. Calls the block with the number of requests
  # that have ended; returns the items that were answered.
  def ask(items)
    todo, done = Array.new(2) { Skep::Threads::Inbox.new }
    items.each { |item| todo.push(item) }
    todo.close
    clients = Array.new(CLIENTS) { Thread.new { todo.each { |item| done.push([request(item)]) } } }
    (1..items.size).filter_map do |count|
      next_of(done, count).tap { yield count if block_given? }
    end
  ensure
    clients&.each(&:kill)
  end

  def next_of(done, count)
    answer = done.pop(timeout: SECONDS) or raise Failed, "only #{count - 1} requests have ended"
    answer.first
  end

  # Returns the item if the answer is ok, nil if the connection broke.
  def request(item)
    UNIXSocket.open(socket) do |connection|
      connection.write("GET /#{item} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      connection.wait_readable(SECONDS) && connection.read.end_with?("ok") ? item : nil
    end
  rescue Errno::ECONNRESET, Errno::EPIPE, Errno::ECONNREFUSED
    nil
  end

  def accepted = notes("accepted").to_h { |item, pid| [item, pid.to_i] }
  def handled = notes("handled").map { |item, pid, thread| [item, pid.to_i, thread] }

  # Returns the pids of the workers that have booted so far.
  def workers(puma) = puma.lines.filter_map { |line| line[/PID: (\d+)\) booted/, 1]&.to_i }

  def signal(pid, name) = Skep.pidfd(pid).then { |pidfd| pidfd.signal(name).tap { pidfd.close } }

  # Stops Puma with TERM, and reads its log to the end.
  def stop(puma)
    puma.pidfd.signal(:TERM)
    puma.pidfd.wait(timeout: SECONDS) or raise Failed, "puma didn't stop: #{puma.lines.last(5)}"
    puma.reading.join(SECONDS) or raise Failed, "a worker of puma's outlived it"
  end

  private

  def socket = "#{directory}/puma.sock"

  def notes(name)
    file = "#{directory}/#{name}"
    File.exist?(file) ? File.readlines(file).map(&:split) : []
  end

  def start_puma
    reader, writer = IO.pipe
    pid = Process.spawn(RbConfig.ruby, "-r#{File.expand_path("../../../load_path", __dir__)}",
                        Gem.bin_path("puma", "puma"), "-C", "#{directory}/puma.rb",
                        chdir: directory, out: writer, err: writer, pgroup: true)
    writer.close
    puma = Puma.new(pid:, log: Skep::Threads::Inbox.new, lines: [], pidfd: Skep.pidfd(pid))
    puma.reading = read(reader, puma)
    at_end { end_puma(puma) }
    puma
  rescue Gem::GemNotFoundException, Gem::LoadError
    raise Failed, "Puma isn't installed: bin/setup scenario installs it"
  end

  # Reads the log all the time: a full pipe would block Puma.
  def read(log, puma)
    Thread.new do
      log.each_line { |line| puma.lines << line && puma.log.push(line) }
      log.close
    end
  end

  def await_log(puma, pattern, times)
    deadline = Skep::OS.now + SECONDS
    until puma.lines.grep(pattern).size >= times
      puma.log.pop(timeout: deadline - Skep::OS.now) or
        raise Failed, "no #{pattern} in #{puma.lines.join}"
    end
  end

  # Kills its process group, with the workers.
  def end_puma(puma)
    Scenario.kill(puma.pidfd, group: true) if puma.pidfd.alive?
    puma.pidfd.close
    puma.reading.join(SECONDS)
  end
end
