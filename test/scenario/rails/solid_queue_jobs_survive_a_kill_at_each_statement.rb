# frozen_string_literal: true

require_relative "scenario"

# Two jobs of Solid Queue, while their process is killed after each of its SQL statements in turn (a
# third of them each day; all with SKEP_STEP=1): the next process of its slot does what is left. A
# process that ends leaves the rows of the next one of its slot, which has begun before. A job whose
# process has no row any more is done, too.
SOURCE = <<~'RUBY'
  require "skep/solid_queue"
  Actors = Skep::SolidQueue::Actors
  Actors.__send__(:remove_const, :LOOK)
  Actors.const_set(:LOOK, 0.1)
  SolidQueue.process_heartbeat_interval = 1
  SolidQueue.logger = Logger.new(nil)

  def wait(what, seconds = 60)
    deadline = Skep::OS.now + seconds
    until yield
      abort("not within #{seconds} s: #{what}") if Skep::OS.now > deadline
      IO.select(nil, nil, nil, 0.02)
    end
  end

  # Returns the pid, and the writer of a pipe: a line stops it.
  def process(kill_after: nil)
    orders, writer = IO.pipe
    said, says = IO.pipe
    pid = fork do
      [writer, said].each(&:close)
      statements = 0
      ActiveSupport::Notifications.subscribe("sql.active_record") do
        Process.kill(:KILL, $$) if (statements += 1) == kill_after
      end
      plans = SolidQueue::Configuration.new(mode: :async, dispatchers: [], skip_recurring: true,
        workers: [{ queues: "*", threads: 1, polling_interval: 0.05 }]).configured_processes
      actors = Actors.new(plans, slot: "host/jobs/0")
      actors.start
      wait("its row") { SolidQueue::Process.where(pid: $$).exists? }
      says.close
      orders.gets
      actors.stop(5)
      exit!(0)
    end
    [orders, says].each(&:close)
    said.read
    [pid, writer]
  end

  def stop(pid, writer)
    writer.puts
    Process.wait2(pid).last
  rescue Errno::EPIPE # it was killed
    Process.wait2(pid).last
  ensure
    writer.close
  end

  def settle
    wait("two jobs are done: #{Note.pluck(:number)}, #{SolidQueue::ClaimedExecution.pluck(:process_id)}, " \
         "#{SolidQueue::Process.pluck(:id, :pid)}") { Note.distinct.count(:number) == 2 }
    wait("no job is left") do
      [SolidQueue::ReadyExecution, SolidQueue::ClaimedExecution].all? { |table| table.count.zero? }
    end
  end

  spared = 0
  step = Integer(ENV.fetch("SKEP_STEP", 3))
  ((1 + (Time.now.yday % step))..).step(step) do |statement|
    Note.delete_all
    2.times { |number| NoteJob.perform_later(number) }
    pid, writer = process(kill_after: statement)
    ended = nil
    wait("killed or done") do
      (ended = Process.wait2(pid, Process::WNOHANG)) ||
        (Note.distinct.count(:number) == 2 && SolidQueue::Job.where(finished_at: nil).none?)
    end
    if ended.nil?
      stop(pid, writer)
      break if (spared += 1) == 2 # it has done all that it does, some statements ago
    else
      writer.close
      successor = process
      settle
      stop(*successor)
    end
  end

  old = process
  new = process # a successor begins beside it
  stop(*old)
  abort("its row is gone") unless SolidQueue::Process.pluck(:pid) == [new.first]
  Note.delete_all
  NoteJob.perform_later(-1) # it waits
  wait("a job is in progress") { Note.where(number: -1).exists? }
  SolidQueue::Process.delete_all
  Process.kill(:KILL, new.first)
  stop(*new)
  successor = process
  wait("the job of a process without a row runs again") { Note.where(number: -1).count == 2 }
  stop(*successor)
  print "ok"
RUBY

RailsScenario.play do
  edit = ->(path, from, to) { write(path, File.read("#{root}/#{path}").sub(from, to)) }
  edit.call("config/application.rb", "queue_adapter = :skep", "queue_adapter = :solid_queue")
  edit.call("config/application.rb", "Bundler.require", "Bundler.require\nrequire \"solid_queue\"")
  write("config/initializers/kafka.rb", "")
  write("config/database.yml", "production: { url: <%= ENV[\"DATABASE_URL\"] %>, pool: 15 }\n")
  write("app/jobs/note_job.rb", <<~RUBY)
    class NoteJob < ActiveJob::Base
      def perform(number)
        first = Note.where(number:).none?
        Note.create!(number:, text: "done", pid: Process.pid)
        IO.select(nil, nil, nil, 600) if number.negative? && first
      end
    end
  RUBY
  in_application(<<~RUBY)
    gem_folder = Gem.loaded_specs.fetch("solid_queue").full_gem_path
    ActiveRecord::Migration.verbose = false
    load "\#{gem_folder}/lib/generators/solid_queue/install/templates/db/queue_schema.rb"
  RUBY
  write("kill_each.rb", SOURCE)
  output = in_application("load \"./kill_each.rb\"")
  must("do all jobs, but: #{output}") { output.end_with?("ok") }
end
